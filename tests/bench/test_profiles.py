"""Profiles: what they set, how they fit a machine, and how CPUs are written."""

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastact.bench import PROFILES, Profile, ProfileError, profiles
from fastact.bench.profiles import NOT_EMULATED, parsed, preferred, written

linux = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")


@pytest.fixture
def usable(monkeypatch):
    """Pretend that the process may use these CPUs."""

    def pretend(cpus):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(cpus), raising=False)

    return pretend


def test_the_profiles_by_name():
    assert list(PROFILES) == ["custom", "phone-big-core", "phone-little-core", "board"]
    assert all(profile.name == name for name, profile in PROFILES.items())
    for profile in PROFILES.values():
        assert not profile.spinning
        assert profile.cpu_quota is None
        assert (profile.precision, profile.optimization) == ("float32", "all")


def test_custom_sets_what_every_system_can():
    custom = PROFILES["custom"]
    assert (custom.threads, custom.cpus, custom.memory_mb) == (1, None, None)
    assert custom.fitted() == custom


def test_a_phone_core_is_one_cpu(usable):
    usable([3, 5])
    for name in ("phone-big-core", "phone-little-core"):
        fitted = PROFILES[name].fitted()
        assert len(fitted.cpus) == fitted.threads == 1


def test_a_board_takes_what_is_there(usable):
    usable([0, 2, 4, 6, 8])
    assert PROFILES["board"].fitted().cpus == (0, 2, 4, 6)
    usable([7])
    fitted = PROFILES["board"].fitted()
    assert (fitted.cpus, fitted.threads) == ((7,), 1)


def test_big_and_little_cores_are_told_apart(usable, monkeypatch):
    capacity = {0: 446, 1: 446, 2: 1024, 3: 871}
    monkeypatch.setattr(profiles, "_capacity", capacity.__getitem__)
    assert preferred([0, 1, 2, 3], "big") == [2, 3, 0, 1]
    assert preferred([0, 1, 2, 3], "little") == [0, 1, 3, 2]
    assert preferred([3, 1], None) == [3, 1]
    usable(capacity)
    assert PROFILES["phone-big-core"].fitted().cpus == (2,)
    assert PROFILES["phone-little-core"].fitted().cpus == (0,)


def test_capacity_of_a_cpu_that_is_not_there():
    assert profiles._capacity(10**6) == 0


def test_named_cpus_must_be_usable(usable):
    usable([0, 1])
    assert Profile(cpus=(1,)).fitted().cpus == (1,)
    with pytest.raises(ProfileError, match=r"CPU 7 is not among .* may use: 0-1"):
        Profile(cpus=(0, 7)).fitted()
    with pytest.raises(ProfileError, match="2 threads on CPUs 1 alone"):
        Profile(cpus=(1,), threads=2).fitted()


def test_more_threads_than_cpus(monkeypatch):
    monkeypatch.setattr(profiles, "usable_cpus", lambda: 1)
    with pytest.raises(ProfileError, match=r"2 threads, but this process may use 1 CPU$"):
        Profile(threads=2).fitted()


def test_a_system_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    with pytest.raises(ProfileError, match=r"phone-big-core binds the process .* cannot do"):
        PROFILES["phone-big-core"].fitted()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"memory_mb": 0}, "memory must be at least 1 MB, not 0"),
        ({"cpu_quota": 0.0}, "between 0.01 and 1 CPU, not 0"),
        ({"cpu_quota": 1.5}, "not 1.5"),
        ({"cpu_quota": float("nan")}, "not nan"),
        ({"precision": "int4"}, "unknown precision 'int4'; known: float32, int8"),
        ({"optimization": "most"}, "known: disabled, basic, extended, all"),
        ({"core": "middle"}, "unknown core 'middle'"),
    ],
)
def test_what_a_profile_cannot_be(wrong, told):
    with pytest.raises(ValueError, match=told):
        Profile(**wrong)


def test_settings_tell_everything():
    whole = Profile(
        threads=2, cpus=(0, 1), memory_mb=64, cpu_quota=0.25, spinning=True, optimization="basic"
    )
    assert whole.settings() == [
        "batch 1",
        "2 threads",
        "bound to CPUs 0-1",
        "spinning",
        "at most 64 MB",
        "25% of a CPU's time",
        "float32",
        "optimisation level basic",
    ]
    assert "bound to 4 CPUs" in PROFILES["board"].settings()
    assert "bound to CPU 3" in replace(whole, cpus=(3,)).settings()


def test_data_tells_what_is_not_emulated():
    data = replace(PROFILES["board"], cpus=(0, 1)).to_dict()
    assert data == json.loads(json.dumps(data))
    assert data["not_emulated"] == list(NOT_EMULATED)
    assert data["cpus"] == [0, 1]


@given(st.sets(st.integers(0, 200), min_size=1))
def test_cpus_are_read_as_they_are_written(cpus):
    assert parsed(written(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0x1", "1.0"])
def test_what_is_no_list_of_cpus(text):
    with pytest.raises(ValueError, match="is not a list of CPUs, as in 0,2-4"):
        parsed(text)

"""Holding a comparison against an earlier one."""

import dataclasses
import json

import pytest

from fastact.bench import Noise, history
from fastact.bench.history import Recorded, changes, read


@pytest.fixture
def saved(comparison, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(comparison.to_dict()))
    return path


@pytest.fixture
def steady(comparison):
    return dataclasses.replace(comparison, noise=Noise(0.01, None, None))


def test_what_is_written_is_read(comparison, saved):
    before = read(saved)
    assert before.network == "digits"
    assert before.p50_ms == {m.name: m.latency.p50_ms for m in comparison.measurements}
    assert before.setting["threads"] == "1"
    assert before.setting["CPU"] == comparison.environment.cpu


def test_each_kind_of_change(steady):
    p50 = {m.name: m.latency.p50_ms for m in steady.measurements}
    setting = history._recorded(steady.to_dict()).setting
    then = {
        "relu/op": p50["relu/op"] / 1.06,
        "gelu/op": p50["gelu/op"] * 1.06,
        "gelu/erf": p50["gelu/erf"] * 1.04,
        "gelu_tanh/op": p50["gelu_tanh/op"] / 1.04,
        "gelu_quick/op": 1.0,
    }
    found, warnings = changes(steady, Recorded("digits", then, setting, noisy=False))
    assert {change.name: change.kind for change in found} == {
        "relu/op": "slower",
        "gelu/op": "faster",
        "gelu/erf": "same",
        "gelu_tanh/op": "same",
        "gelu_tanh/tanh": "new",
        "gelu_quick/op": "gone",
    }
    assert found[0].ratio == pytest.approx(1.06)
    assert found[-1].ratio is found[-2].ratio is None
    assert warnings == []


def test_noise_on_either_side_leaves_it_open(steady, saved):
    before = dataclasses.replace(read(saved), noisy=False)
    noisy = dataclasses.replace(steady, noise=Noise(0.4, None, None, ("it moved",)))
    assert {c.kind for c in changes(noisy, before)[0]} == {"unsure"}
    assert {c.kind for c in changes(steady, dataclasses.replace(before, noisy=True))[0]} == {
        "unsure"
    }
    assert {c.kind for c in changes(steady, before)[0]} == {"same"}


def test_another_machine_is_told(steady, saved):
    before = read(saved)
    before.setting.update({"CPU": "Cortex-A55", "threads": "4"})
    _, warnings = changes(steady, before)
    assert warnings == [
        f"CPU was Cortex-A55 and is {steady.environment.cpu}",
        "threads was 4 and is 1",
    ]


def test_another_network_cannot_be_compared(steady, saved):
    with pytest.raises(ValueError, match="of 'resnet8', this one of 'digits'"):
        changes(steady, dataclasses.replace(read(saved), network="resnet8"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "was not written by fastact compare"),
        ('{"schema": "2", "models": []}', "was not written by fastact compare"),
        ('{"schema": 1}', "was not written by fastact compare"),
        ('{"schema": 3, "models": []}', "has schema 3; this version of fastact reads 1 to 2"),
        ('{"schema": 2, "models": []}', "lacks what schema 2 promises: KeyError"),
        ('{"schema": 1, "models": 7, "environment": []}', "lacks what schema 1 promises"),
    ],
)
def test_files_that_are_no_comparison(tmp_path, text, told):
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        read(path)


def test_no_file(tmp_path):
    with pytest.raises(OSError, match=r"none\.json"):
        read(tmp_path / "none.json")

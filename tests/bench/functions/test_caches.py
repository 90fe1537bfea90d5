"""The sizes of the caches, as different systems tell them."""

import os
import platform
import subprocess

import pytest

from fastact.bench.functions import caches
from fastact.bench.functions.caches import Caches


def system(monkeypatch, tmp_path, cpus):
    """Lay out what Linux tells: for each CPU its caches as (level, type, size)."""
    for cpu, entries in cpus.items():
        for index, entry in enumerate(entries):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in zip(("level", "type", "size"), entry, strict=False):
                (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(caches, "_CPUS", tmp_path)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)


CORE = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "1M")]


def test_sizes_are_bytes_and_instructions_do_not_count(monkeypatch, tmp_path):
    system(monkeypatch, tmp_path, {0: [*CORE, ("3", "Unified", "32768K")]})
    assert Caches.here() == Caches(l1d=49152, l2=1048576, l3=33554432)


def test_of_different_cpus_the_smallest_counts_and_others_not_at_all(monkeypatch, tmp_path):
    little = [("1", "Data", "32K"), ("2", "Unified", "256K")]
    not_usable = [("1", "Data", "16K")]
    system(monkeypatch, tmp_path, {0: CORE, 1: little, 2: not_usable})
    assert Caches.here() == Caches(l1d=32768, l2=262144, l3=None)


@pytest.mark.parametrize(
    "entries",
    [[], [("1", "Data")], [("1", "Data", "")], [("1", "Data", "0K")], [("1", "Data", "?")]],
)
def test_what_the_system_does_not_tell_is_none(monkeypatch, tmp_path, entries):
    system(monkeypatch, tmp_path, {0: entries})
    assert Caches.here() == Caches(None, None, None)


def test_macos_is_asked_with_sysctl(monkeypatch):
    told = {"hw.l1dcachesize": "65536\n", "hw.l2cachesize": "4194304\n"}

    def run(command, **options):
        assert command[:2] == ["sysctl", "-n"]
        return subprocess.CompletedProcess(command, 0, told.get(command[2], ""), "")

    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(subprocess, "run", run)
    assert Caches.here() == Caches(l1d=65536, l2=4194304, l3=None)


def test_this_machine_tells_sizes_in_bytes_or_nothing():
    here = Caches.here()
    assert all(size is None or size >= 1024 for size in (here.l1d, here.l2, here.l3))

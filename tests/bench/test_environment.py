"""The description of the machine."""

import os
import platform

import numpy as np
import pytest

import fastact
from fastact.bench import Environment
from fastact.bench.environment import cpu_name, installed_version, usable_cpus


def test_it_names_the_variant_and_the_versions():
    here = Environment.here()
    assert here.isa == fastact.isa
    assert here.versions["fastact"] == fastact.__version__
    assert here.versions["numpy"] == np.__version__
    assert here.versions["python"] == platform.python_version()
    assert here.cpu.strip() == here.cpu != ""
    assert here.to_dict()["cpu"] == here.cpu


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_usable_cpus_are_those_of_the_process():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert usable_cpus() == Environment.here().usable_cpus == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert usable_cpus() == len(allowed)


def test_a_package_that_is_not_installed_has_no_version():
    assert installed_version("fastact-no-such-package") is None


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"/proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"}, "Some CPU @ 2 GHz"),
        ({"/proc/device-tree/model": "Some Board 5\0"}, "Some Board 5"),
        ({}, platform.processor() or platform.machine()),
    ],
)
@pytest.mark.skipif(platform.system() == "Darwin", reason="macOS is asked otherwise")
def test_cpu_name_comes_from_the_kernel_or_the_board(monkeypatch, files, name):
    monkeypatch.setattr("fastact.bench.environment._read", lambda path: files.get(path, ""))
    assert cpu_name() == name

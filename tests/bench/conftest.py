"""One short comparison that several tests look at."""

import pytest

from fastact.bench import compare


@pytest.fixture(scope="session")
def progress_reports():
    return []


@pytest.fixture(scope="session")
def comparison(progress_reports):
    return compare(
        runs=300,
        budget_ms=1000.0,
        kernels=False,
        progress=lambda *report: progress_reports.append(report),
    )

"""Holding a comparison against an earlier one that was written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .results import SCHEMA, Comparison

#: Two runs at different times differ by up to this on one machine, with nothing changed.
SAME_RATIO = 1.05


@dataclass(frozen=True)
class Recorded:
    """What an earlier comparison says, whichever version wrote it.

    Parameters
    ----------
    network : str
        What it measured.
    p50_ms : dict of str to float
        The median latency of each model, in milliseconds.
    setting : dict of str to str
        What must be the same for the figures to be comparable.
    noisy : bool
        Whether its machine was too noisy.
    """

    network: str
    p50_ms: dict[str, float]
    setting: dict[str, str]
    noisy: bool


@dataclass(frozen=True)
class Change:
    """What became of one model since an earlier comparison.

    Parameters
    ----------
    name : str
        The model.
    before_ms, now_ms : float or None
        Its median latency then and now, in milliseconds; None if it was not measured.
    kind : str
        ``"slower"``, ``"faster"``, ``"same"``, ``"new"``, ``"gone"``, or ``"unsure"`` if one of
        the machines was too noisy.
    """

    name: str
    before_ms: float | None
    now_ms: float | None
    kind: str

    @property
    def ratio(self) -> float | None:
        """Latency now relative to then; None if there are not both."""
        if self.before_ms is None or self.now_ms is None:
            return None
        return self.now_ms / self.before_ms


def read(path: Path) -> Recorded:
    """Read an earlier comparison.

    Parameters
    ----------
    path : Path
        A file that ``fastact compare --json`` has written.

    Returns
    -------
    Recorded
        What it says.

    Raises
    ------
    ValueError
        If it is no such file, or of a later version than this one reads.
    OSError
        If it cannot be read.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int) or "models" not in data:
        raise ValueError(f"{path} was not written by fastact compare --json")
    if schema > SCHEMA:
        raise ValueError(f"{path} has schema {schema}; this version of fastact reads 1 to {SCHEMA}")
    try:
        return _recorded(data)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} lacks what schema {schema} promises: {error!r}") from None


def _recorded(data: Mapping[str, Any]) -> Recorded:
    where = data["environment"]
    if data["schema"] == 1:
        network, threads, level = data["arch"], data["threads"], data["optimization"]
        profile = {"profile": "custom", "precision": "float32"}
        noisy = False
    else:
        network, profile = data["network"], data["profile"]
        threads, level = profile["threads"], profile["optimization"]
        profile = {"profile": profile["name"], "precision": profile["precision"]}
        noisy = bool(data["noise"]["reasons"])
    setting = {
        "CPU": where["cpu"],
        "profile": profile["profile"],
        "precision": profile["precision"],
        "threads": str(threads),
        "optimisation level": level,
        "onnxruntime": str(where["versions"]["onnxruntime"]),
    }
    models = {model["name"]: float(model["latency"]["p50_ms"]) for model in data["models"]}
    return Recorded(network, models, setting, noisy)


def changes(comparison: Comparison, before: Recorded) -> tuple[list[Change], list[str]]:
    """Tell what got slower or faster.

    Parameters
    ----------
    comparison : Comparison
        What was measured now.
    before : Recorded
        What was measured then.

    Returns
    -------
    changes : list of Change
        One for each model of either.
    warnings : list of str
        What else differs, so that the figures may not be comparable.

    Raises
    ------
    ValueError
        If the earlier one is of another network.
    """
    if before.network != comparison.network:
        raise ValueError(
            f"the earlier comparison is of {before.network!r}, this one of {comparison.network!r}"
        )
    now = _recorded(comparison.to_dict())
    unsure = now.noisy or before.noisy
    found = []
    for name in dict.fromkeys([*now.p50_ms, *before.p50_ms]):
        then_ms, now_ms = before.p50_ms.get(name), now.p50_ms.get(name)
        found.append(Change(name, then_ms, now_ms, _kind(then_ms, now_ms, unsure)))
    warnings = [
        f"{key} was {before.setting[key]} and is {value}"
        for key, value in now.setting.items()
        if before.setting[key] != value
    ]
    return found, warnings


def _kind(before_ms: float | None, now_ms: float | None, unsure: bool) -> str:
    if before_ms is None or now_ms is None:
        return "new" if before_ms is None else "gone"
    if unsure:
        return "unsure"
    if now_ms > before_ms * SAME_RATIO:
        return "slower"
    return "faster" if now_ms * SAME_RATIO < before_ms else "same"

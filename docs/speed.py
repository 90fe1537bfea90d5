"""Prints README's table of speed from the timings of the benchmarks: python docs/speed.py b.json.

b.json is made by `pytest --benchmark-only --benchmark-json b.json`, on the same machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fastact.bench import Environment

Key = tuple[str, str, int]  # activation, variant or "numpy", elements


def read(path: Path, dtype: str) -> dict[Key, float]:
    """Read the medians of the benchmarks of arrays, in nanoseconds per element."""
    medians = {}
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        info = benchmark["extra_info"]
        if "variant" in info and info["dtype"] == dtype:
            key = (info["activation"], info["variant"], info["n"])
            medians[key] = benchmark["stats"]["median"] * 1e9 / info["n"]
    return medians


def table(medians: dict[Key, float]) -> list[str]:
    """Lay the medians out in Markdown, a row for each activation and variant."""
    sizes = sorted({n for _, _, n in medians})
    rows = dict.fromkeys((activation, variant) for activation, variant, _ in medians)
    lines = [
        "| ns per element | " + " | ".join(f"n = {n:,}" for n in sizes) + " |",
        "|---|" + len(sizes) * "---:|",
    ]
    for activation, variant in rows:
        cells = [f"{medians[activation, variant, n]:.2f}" for n in sizes]
        lines.append(f"| {activation}, {variant} | " + " | ".join(cells) + " |")
    return lines


def main(path: Path, dtype: str = "float32") -> None:
    """Print the table and, below it, where it was made."""
    here = Environment.here()
    print(*table(read(path, dtype)), sep="\n")
    versions = f"fastact {here.versions['fastact']}, NumPy {here.versions['numpy']}"
    print(f"\n{dtype}, medians, one thread; {here.cpu}, {here.system}; {versions}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])

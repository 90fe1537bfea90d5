"""Prints the lowest version of every requirement that the installed fastact states.

Usage: python lowest.py > constraints.txt
"""

from __future__ import annotations

import importlib.metadata
import re

PATTERN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?(?:>=([\d.]+))?(.*)")  # name[extras]>=version; ...

# What the lowest versions need at most: matplotlib 3.9 warns under a newer pyparsing.
AT_MOST = ["pyparsing<3.2"]


def main() -> None:
    """Turn each `name>=version` outside of the extra "dev" into `name==version.*`."""
    for requirement in importlib.metadata.requires("fastact") or []:
        name, version, rest = PATTERN.fullmatch(requirement).groups()
        if version and "dev" not in rest:
            print(f"{name}=={version}.*")
    print(*AT_MOST, sep="\n")


if __name__ == "__main__":
    main()

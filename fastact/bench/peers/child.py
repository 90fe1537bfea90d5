"""The process that measures under one cap; `caps.run` starts it and reads its lines of JSON."""

from __future__ import annotations

import json
import sys

import fastact

from .libraries import PEERS
from .timing import measure
from .workloads import groups


def main(request: str) -> None:
    """Measure each group and print its rows as one line.

    Parameters
    ----------
    request : str
        JSON: the cap's name, the seconds for each group, the sizes.
    """
    asked = json.loads(request)
    for group in groups(tuple(asked["sizes"])):
        peers = PEERS[:1] if group.ours else PEERS
        rows = measure(group, peers, asked["seconds"], cap=asked["cap"], isa=fastact.isa)
        print(json.dumps([row.to_dict() for row in rows]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

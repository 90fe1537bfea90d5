"""The `fastact` command, also as ``python -m fastact``."""

from __future__ import annotations

import sys

from ._extras import require


def main() -> int:
    """Run the command line, or say what it lacks.

    Returns
    -------
    int
        The exit code; `fastact --help` lists them.
    """
    try:
        require("click", "report")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    from .cli import main as command_line

    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

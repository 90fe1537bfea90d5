"""``python -m fastact.export.portability``: the command, or what it lacks."""

from __future__ import annotations

import sys

from ..._extras import require


def main() -> None:
    """Run the command, or exit with the name of the extra that brings what is missing."""
    try:
        for module in ("click", "onnxruntime"):
            require(module, "report")
    except ImportError as error:
        sys.exit(f"Error: {error}")
    from .command import main as command

    command(prog_name="python -m fastact.export.portability")


if __name__ == "__main__":
    main()

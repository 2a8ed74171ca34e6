"""Where the command ``leaven`` and ``python -m leaven`` begin."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line; an interrupt during its imports is one line, not a traceback."""
    try:
        from leaven.cli import main
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("leaven: error: interrupted.\n")
        sys.exit(1)
    main()


if __name__ == "__main__":
    run()

"""``python -m leaven.cli``, where the ``leaven`` script is not on the path."""

from __future__ import annotations

from leaven.cli import main

if __name__ == "__main__":
    main()

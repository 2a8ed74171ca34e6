"""Build the wheel, install it in an empty environment, and label a file far from the checkout.

``python -m tools.wheel`` (``make wheel-test``) needs the package index. It prints one line when
all is well: the size of the wheel and how many labels are right.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*command: object, cwd: Path) -> str:
    """Run a command without anything of this checkout on its path."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, check=True, text=True, stdout=-1
    ).stdout


def main() -> int:
    """Build, install, label, check."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT, cwd=folder)
        (wheel,) = (folder / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            foreign = [each for each in archive.namelist() if not each.startswith("leaven")]
        if foreign:
            print(f"the wheel holds {foreign[:5]}")
            return 1
        venv.create(folder / "empty", with_pip=True)
        scripts = folder / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
        run(scripts / "python", *install, cwd=folder)
        file, out = folder / "some rows.csv", folder / "labeled rows.csv"
        lines = [f"{i % 2 * 4 + i % 7 / 7:.3f},{'ab'[i % 2] if i < 20 else ''}" for i in range(60)]
        file.write_text("x,kind\n" + "\n".join(lines))
        run(scripts / "leaven", "label", file, "--target", "kind", "--out", out, cwd=folder)
        home = run(scripts / "python", "-c", "import leaven; print(leaven.__file__)", cwd=folder)
        if not Path(home.strip()).is_relative_to(folder.resolve()):
            print(f"leaven was imported from {home.strip()}")
            return 1
        with out.open(newline="") as stream:
            found = [row["kind_predicted"] for row in csv.DictReader(stream)]
        right = sum(label == "ab"[i % 2] for i, label in enumerate(found))
        print(f"{wheel.name}, {wheel.stat().st_size / 1024:.0f} kB: {right} of {len(found)} right")
        return int(right < 57)


if __name__ == "__main__":
    sys.exit(main())

"""Run the tests of what computes as other processors would round.

``python -m tools.portable`` (``make test-portable``) runs pytest once for each variant and prints a
line with its counts; ``--only Haswell`` runs those whose name holds the word. Without ``--all``
only tests run that compare with a threshold or within a stated tolerance (``tools/thresholds.py``).
A variant that this processor cannot run is named and left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPUTING = (
    "tests/regression",
    "tests/solvers",
    "tests/graph",
    "tests/graph_based",
    "tests/generative",
    "tests/low_density",
    "tests/self_labeling",
    "tests/representation",
    "tests/statistics",
    "tests/model_selection",
    "tests/selection",
    "tests/active",
    "tests/tables",
    "README.md",
    "docs/guide",
    "docs/tutorials",
    "docs/howto",
)


@dataclass(frozen=True)
class Variant:
    """Settings under which the same code rounds differently."""

    name: str
    settings: dict[str, str]
    tests: tuple[str, ...] = COMPUTING
    needs: str = ""


def processor(blas: str, numpy: str, torch: str) -> dict[str, str]:
    """Let OpenBLAS, NumPy and PyTorch all do without what a processor does not have."""
    return {
        "OPENBLAS_CORETYPE": blas,
        "NPY_DISABLE_CPU_FEATURES": numpy,
        "ATEN_CPU_CAPABILITY": torch,
    }


# The groups of instructions by the names of NumPy 2.4 and later: each is switched off by itself.
AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
VARIANTS = (
    Variant("Nehalem, without AVX", processor("Nehalem", f"X86_V3 {AVX512}", "default")),
    Variant("Haswell, with AVX2", processor("Haswell", AVX512, "avx2"), needs="avx2"),
    Variant("SkylakeX, with AVX-512", {"OPENBLAS_CORETYPE": "SkylakeX"}, needs="avx512f"),
    Variant("one thread", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
    Variant("four threads", {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}),
)


def flags() -> str:
    """Name what this processor can do; nothing where the system does not tell."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def summary(output: str) -> str:
    """Give the last line of pytest, which counts."""
    lines = [line.strip("= ") for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def main() -> int:
    """Run the variants; tell whether all passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="variants whose name holds this word")
    parser.add_argument("--workers", default="2", help="processes of pytest")
    parser.add_argument("--all", action="store_true", help="tests without a threshold, too")
    args = parser.parse_args()
    selection = [] if args.all else ["-p", "tools.thresholds"]
    failed = 0
    for variant in VARIANTS:
        if args.only.lower() not in variant.name.lower():
            continue
        if variant.needs and variant.needs not in flags():
            print(f"{variant.name}: left out, this processor has no {variant.needs}", flush=True)
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-n", args.workers, *selection]
        command += variant.tests
        environment = {**os.environ, **variant.settings}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        print(f"{variant.name}: {summary(done.stdout)}", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

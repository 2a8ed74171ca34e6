"""Count lines of code and of tests, without docstrings, comments and empty lines.

``python -m tools.test_ratio`` prints, for each package, its lines, those of its tests and their
ratio, and at the end the comments per 100 lines of code. It fails below ``--goal``.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Tokens that make no line a line of code.
_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def count_lines(source: str) -> tuple[int, int]:
    """Count the lines that hold code, and the comments.

    >>> count_lines('x = [  # why\\n    2,\\n]\\n\\n# The end.\\n')
    (3, 2)
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    n_comments = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        n_comments += token.type == tokenize.COMMENT
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings), n_comments


def count_packages(folder: Path) -> tuple[Counter[str], int]:
    """Count the lines of code in each package below a folder, and the comments in all of them."""
    lines: Counter[str] = Counter()
    n_comments = 0
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        n_lines, n_found = count_lines(path.read_text(encoding="utf-8"))
        lines[parts[0] if len(parts) > 1 else "root"] += n_lines
        n_comments += n_found
    return lines, n_comments


def report(code: Counter[str], tests: Counter[str], n_comments: int) -> Iterable[str]:
    """Describe the counts, one line per package.

    Tests of no package, such as those of the studies, count in the total.
    """
    for package in sorted(code):
        ratio = tests[package] / max(code[package], 1)
        yield f"{package:18s} {code[package]:6d} {tests[package]:6d} {ratio:5.2f}"
    n_code, n_tests = code.total(), tests.total()
    yield f"{'total':18s} {n_code:6d} {n_tests:6d} {n_tests / max(n_code, 1):5.2f}"
    yield f"comments per 100 lines of code: {100 * n_comments / max(n_code, 1):.2f}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if the ratio is below the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--goal", type=float, default=0.0, help="lowest ratio that passes")
    goal = parser.parse_args(arguments).goal
    code, n_comments = count_packages(ROOT / "src" / "leaven")
    tests, _ = count_packages(ROOT / "tests")
    print("\n".join(["package              code  tests ratio", *report(code, tests, n_comments)]))
    return int(tests.total() < goal * code.total())


if __name__ == "__main__":
    sys.exit(main())

import os
import subprocess
import sys

import pytest

from leaven._threads import SMALL

# With two threads by default, however many the machine has.
SCRIPT = """
import sys
import numpy
from scipy import linalg
from threadpoolctl import threadpool_info
from leaven._threads import one_thread_if_small
with one_thread_if_small(int(sys.argv[1])):
    print(max(each["num_threads"] for each in threadpool_info()))
"""


@pytest.mark.parametrize(("n_rows", "n_threads"), [(1, 1), (SMALL, 1), (SMALL + 1, 2)])
def test_few_rows_have_one_thread(n_rows, n_threads):
    two = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(n_rows)],
        env={**os.environ, **two},
        capture_output=True,
        text=True,
        check=True,
    )
    if n_threads == 2 and done.stdout.strip() == "1":
        pytest.skip("the numerical libraries have one thread here")
    assert int(done.stdout) == n_threads

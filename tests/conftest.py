"""Settings of every test run; they must be made before NumPy is imported."""

from __future__ import annotations

import os
import signal

# A run in the background of a script ignores SIGINT, and so would every program that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two workers with two threads each would fight over two cores, and sums would depend on the
# number of threads: one thread a worker is faster here and repeatable.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from click.testing import CliRunner  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# Since click 8.2 the error stream is kept apart, and there is no word for it any more.
if "mix_stderr" in CliRunner.__init__.__code__.co_varnames:
    CliRunner.__init__.__defaults__ = (*CliRunner.__init__.__defaults__[:-1], False)

# A shared, busy machine makes examples slow: no deadline, and no complaint of it. Continuous
# integration runs the same examples every time; a developer's machine looks for new ones.
settings.register_profile(
    "leaven",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("leaven")

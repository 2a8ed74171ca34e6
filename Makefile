# demo and test need nothing but make and Python 3.10 or later: each makes .venv when it is
# missing and installs into it what it needs, once. `make PYTHON=python3.13 test` picks another
# interpreter for a new .venv.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
EXAMPLE := src/leaven/datasets/data/support_tickets.csv

.PHONY: demo annotate-demo annotate-stress test lint docs bench reproduce reproduce-quick clean fuzz mutants ratio test-portable

demo: $(VENV)/.core
	@mkdir -p demo-output
	$(BIN)/leaven label $(EXAMPLE) --target topic --text text --out demo-output/support_tickets.csv --report demo-output/report.html

# On a copy: the event file stands beside the table. Ctrl-C ends it.
annotate-demo: $(VENV)/.app
	@mkdir -p demo-output
	@cp $(EXAMPLE) demo-output/tickets.csv
	$(BIN)/leaven annotate demo-output/tickets.csv --target topic --text text

# Kills the server of the page 100 times, and sends 10,000 random requests.
annotate-stress: $(VENV)/.dev
	LEAVEN_KILLS=100 LEAVEN_REQUESTS=10000 $(BIN)/python -m pytest -q -s tests/app -k "kills or random_requests"

test: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

DOCS_VERSION ?= dev
docs: $(VENV)/.dev
	DOCS_VERSION=$(DOCS_VERSION) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

# SCRIPTS names some, such as SCRIPTS="graph text". members and methods want a command, and others
# a peer to be installed: what can run does, and what stopped is named at the end.
SCRIPTS ?= $(filter-out members methods,$(basename $(notdir $(wildcard benchmarks/*.py))))
bench: $(VENV)/.dev
	@stopped=; for name in $(SCRIPTS); do \
		echo "== benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py || stopped="$$stopped $$name"; \
	done; if [ -n "$$stopped" ]; then echo "Stopped:$$stopped"; exit 1; fi

# OpenBLAS takes the products of 2013 on processors of AMD that it does not know yet. With those of
# AVX-512 the largest data sets take two thirds of the time.
CORETYPE := $(shell grep -qs AuthenticAMD /proc/cpuinfo && grep -qsw avx512vl /proc/cpuinfo && \
	echo OPENBLAS_CORETYPE=SkylakeX)

# A run that was stopped resumes from the stores in reproduction/.
reproduce: $(VENV)/.dev
	$(CORETYPE) $(BIN)/python -m studies all --jobs 2 --out reproduction

reproduce-quick: $(VENV)/.dev
	$(CORETYPE) $(BIN)/python -m studies all --quick --jobs 2 --out reproduction-quick

# Odd input through every door; SUITES names some of them, `python -m tools.fuzz --help` lists them.
SECONDS ?= 300
fuzz: $(VENV)/.dev
	$(BIN)/python -m tools.fuzz $(SUITES) --seconds $(SECONDS)

# Builds the wheel, installs it in an empty environment and labels a file outside the checkout.
wheel-test: $(VENV)/.dev
	$(BIN)/python -m tools.wheel

# Breaks the code at N random places and lists what no test notices; SEED draws others.
N ?= 20
SEED ?= 0
mutants: $(VENV)/.dev
	$(BIN)/python -m tools.mutants $(N) --seed $(SEED)

# Lines of tests per line of code, without docstrings and comments; fails below the goal.
ratio: $(VENV)/.dev
	$(BIN)/python -m tools.test_ratio --goal 0.9

# The parts that compute, as other processors round them.
test-portable: $(VENV)/.dev
	$(BIN)/python -m tools.portable --workers $(WORKERS)

# .venv stays: remove it by hand to start from nothing.
clean:
	rm -rf build dist demo-output reproduction-quick docs/_build docs/api docs/auto_examples docs/notebooks/generated htmlcov
	rm -rf .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f docs/sg_execution_times.rst

# The stamps are newer than what was installed from; a change there installs again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "leaven needs Python 3.10 or later, and $(PYTHON) is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml $(VENV)/.made
	$(PIP) install -e .
	@touch $@

$(VENV)/.app: pyproject.toml $(VENV)/.made
	$(PIP) install -e '.[app]'
	@touch $@ $(VENV)/.core

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.made
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.core

# Two commands for a newcomer: `make demo` and `make test`. Both set up .venv on their first call.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
# The matrices are small: threads of the linear algebra would only fight each other and the test workers.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# The tests start hundreds of processes; each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin

# Three processes even on two cores: many tests wait for clocks or for one another. Each works through
# neighbouring tests, which share servers, browsers and studies, and takes over from others at the end.
# Old packages may call each other's deprecated names; what they do to argbest shows in the results.
SUITE = $(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow" $(if $(LOWEST),-W ignore::DeprecationWarning)

.PHONY: demo test test-slow test-lowest test-py311 test-py313 test-bridges suite compiled fuzz check format bench docs pictures paper \
	release release-check clean

demo: $(VENV)/.demo
	$(BIN)/argbest demo --out demo

# The types are checked beside the compiler, which has little to do at its end.
test: $(VENV)/.test
	$(MAKE) --jobs=2 check compiled
	$(SUITE)

# Then what `make test` tries with few draws (tests/coarse.py), with as many as users get.
test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m slow
	ARGBEST_FINE_TESTS=yes $(BIN)/python -m pytest -n 2 -m "not slow" tests/answers tests/browser tests/report \
		tests/serve tests/study tests/test_cli*.py tests/test_secrets.py tests/test_several_responses.py

# The tests with other versions, each in an environment of its own: the lowest ones that pyproject.toml
# allows, and the newest ones with the oldest and the newest Python. PYTHON313=/path/to/python3.13 names one
# that is not on the path.
test-lowest:
	$(MAKE) suite VENV=.venv-lowest PYTHON=$(or $(PYTHON311),python3.11) LOWEST=yes

test-py311 test-py313: test-py3%:
	$(MAKE) suite VENV=.venv-py3$* PYTHON=$(or $(PYTHON3$*),python3.$*)

# The bridges to packages that are large or need other versions, and the tracking example.
test-bridges:
	$(MAKE) .venv-bridges/.test VENV=.venv-bridges EXTRAS=test,sumo,simopt
	.venv-bridges/bin/python -m pip install --quiet mlflow-skinny alembic
	.venv-bridges/bin/python -m pytest -n 2 tests/test_bridges.py tests/study/test_on_result.py

suite: compiled
	$(SUITE)

compiled: $(VENV)/.test
	$(BIN)/python -W ignore tests/compile_all.py

# More bad inputs than `make test` tries, of one ROOM of tests/fuzz/rooms.py or of all.
ROOM ?= all
FIRST ?= 0
CASES ?= 2000
fuzz: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m fuzz.rooms $(ROOM) $(FIRST) $(CASES)

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test
	$(BIN)/python benchmarks/decision.py
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/covid.py
	$(BIN)/python benchmarks/storage.py
	$(BIN)/python -m benchmarks.paper --macroreps 10 --replications 200

# The pages in site/, every warning an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The pictures, the live report, the terminal and the notebook of the docs; Chromium makes those of the report.
pictures: $(VENV)/.test
	$(BIN)/python docs/images/draw.py
	$(BIN)/python docs/images/brand/draw.py
	$(BIN)/python docs/images/terminal.py
	$(BIN)/python tests/notebooks.py docs/tutorial.ipynb docs/tutorial.ipynb

# Every figure and table of the paper, and docs/reproduction.md. PUBLISHED names a file of published curves.
paper: $(VENV)/.demo
	$(BIN)/python -m experiments all --jobs 2 --out paper --docs docs $(if $(PUBLISHED),--published $(PUBLISHED))

# The number of a new version in all places that name it: `make release VERSION=0.3.0`, once nobody writes to the
# changelog any more.
release:
	$(PYTHON) tests/release.py version $(VERSION)

# The packages in dist/, and whether the wheel works by itself: installed without extras in a new environment,
# away from this folder and from any network. Then the pages, every warning an error.
release-check:
	rm -rf dist .venv-release
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet build
	.venv-release/bin/python -m build --outdir dist
	.venv-release/bin/python tests/release.py check dist
	$(MAKE) docs

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "argbest needs Python 3.11 or newer; install it or call 'make PYTHON=/path/to/python'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.python
	$(BIN)/python tests/lowest.py > $(VENV)/lowest.txt
	$(BIN)/python -m pip install --quiet --editable ".[$(or $(EXTRAS),test)]" $(if $(LOWEST),--constraint $(VENV)/lowest.txt)
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable ".[docs,plot]"
	@touch $@

clean:
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf $(VENV) .venv-* demo dist paper site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# make demo   sets everything up and shows what surelift is for
# make test   sets everything up and runs every test but the slowest
# make slow   sets everything up and runs those: simulations, and comparisons with an independent implementation
# make campaign SIZE=slice   sets everything up and searches for trouble, for minutes; SIZE=full for an hour or two
# make docs   sets everything up and builds the documentation, every block of it executed
# make wheels sets everything up, builds what a release uploads into dist/, and tries it on every Python at hand
# make floors sets everything up in build/floors, with the lowest version of every dependency, and runs tests that use them
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the compiled loops are made of: a change builds them again.
LOOPS := hatch_build.py $(wildcard src/surelift/kernels/c/*)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# What covers each dependency, and tests that need no other tool.
FLOORS_EXTRAS := learn items serve report sklearn sql lake
FLOORS_TOOLS := pytest pytest-xdist hypothesis pandas polars dask pyyaml 'pyiceberg[sql-sqlite]'
FLOORS_TESTS := tests/logs tests/results tests/views tests/cli tests/controls/test_models.py tests/engines/test_engines.py \
  tests/learning/test_learner.py tests/learning/test_items.py tests/learning/test_serving.py \
  --ignore tests/logs/test_stores.py --ignore tests/views/test_browser.py
# Bytecode, which a process may not be allowed to write itself: without, each start takes half a second more. In both
# processors at once, as pip does not; and not of what is large and seldom imported.
BYTECODE = @-$(BIN)/python -m compileall -q -j 0 -x '/(torch|pyspark|sympy|mypy|sphinx|babel)/' $(VENV)/lib src

.PHONY: demo test slow campaign docs wheels floors lint types clean

demo: $(VENV)/demo.stamp
	$(BIN)/surelift demo --output demo
	$(BIN)/surelift verify demo/certificate.json demo/shop.parquet
	@echo "The report, to open in a browser: demo/report.html"
	@echo "To go on from here: . $(BIN)/activate"

test: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -q -m "not slow"

slow: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -q -m slow

campaign: $(VENV)/test.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m campaigns all --size $(or $(SIZE),slice)

docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The documentation: build/docs/index.html"

wheels:
	PYTHON=$(PYTHON) bash scripts/wheels.sh dist

# Dependencies of this age warn about others that are newer.
floors: build/floors/stamp
	OMP_NUM_THREADS=1 build/floors/bin/python -m pytest -n 2 -q -m "not slow" -k "not spark and not in_a_store" -p no:cacheprovider \
	  -W ignore::DeprecationWarning -W ignore::FutureWarning $(FLOORS_TESTS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist demo

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "surelift needs Python 3.11 or newer; say: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml constraints.txt $(LOOPS) | $(VENV)/bin/python
	@echo "installing surelift into $(VENV) (about a minute, the first time only)"
	$(PIP) --editable '.[report]'
	$(BYTECODE)
	@$(BIN)/surelift --version
	@touch $@

$(VENV)/docs.stamp: pyproject.toml constraints.txt $(LOOPS) | $(VENV)/test.stamp
	@echo "installing what builds the documentation into $(VENV) (a minute, the first time only)"
	$(PIP) --editable '.[test,sklearn,spark,sql,learn,items,report,lake,docs]'
	$(BYTECODE)
	@$(BIN)/surelift --version
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt $(LOOPS) | $(VENV)/bin/python
	@echo "installing surelift and its test tools into $(VENV) (a minute or two, the first time only)"
	$(PIP) --editable '.[test,sklearn,spark,sql,learn,items,report,lake]'
	$(BYTECODE)
	@$(BIN)/surelift --version
	@touch $@

build/floors/stamp: pyproject.toml constraints.txt scripts/floors.py $(LOOPS) $(shell find src -name '*.py')
	rm -rf build/floors
	$(or $(FLOORS_PYTHON),python3.11) -m venv build/floors
	build/floors/bin/python scripts/floors.py $(FLOORS_EXTRAS) > build/floors/requirements.txt
	build/floors/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  --requirement build/floors/requirements.txt $(FLOORS_TOOLS) .
	@touch $@

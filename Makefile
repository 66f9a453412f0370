# Every target sets up what it needs: .venv in the root, installed from pyproject.toml under constraints.txt.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint bench docs clean
help:  ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

.venv/docs-installed: .venv/installed
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

demo: .venv/installed  ## Run five algorithms on a generated graph of a million edges
	$(BIN)/python examples/demo.py

test: lint  ## Lint, types, import layers, doctests and all tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: .venv/installed  ## ruff, mypy and the import-layer check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/bench-installed: .venv/installed
	$(BIN)/pip install --quiet -c constraints.txt -e ".[bench]"
	touch $@

bench: .venv/bench-installed  ## Measure everything against every peer; GAP=folder of a built GAP suite, DATA=real graphs
	$(BIN)/python benchmarks/foundation.py --out docs/benchmarks_foundation.md
	$(BIN)/python benchmarks/building.py
	$(BIN)/python benchmarks/programs.py
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(BIN)/tgraph bench --memory --cold --out docs/benchmarks.md \
	  $(if $(GAP),--gap $(GAP)) $(if $(DATA),--data $(DATA))

docs: .venv/docs-installed  ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

clean:  ## Remove everything that was built
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Everything a person or a build server runs. Needs Python 3.11 or later with venv, git and make; nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A checker of layout rules that may lie beside the checkout; without it that step is left out.
HOUSE ?= ../shared/tools/house.py
JOBS ?= 2
SOURCES := kernel plugins tests tools benchmarks docs

.DEFAULT_GOAL := help
.PHONY: help install demo test slow-test check format docs schemas bench bench-locomo bench-questions bench-longmemeval conformance clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

install: $(STAMP) ## Make the virtual environment in .venv

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## See it work: two hosts, one memory, a killed owner, nothing lost
	@$(BIN)/engram demo

test: $(STAMP) ## Run the tests
	@$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

slow-test: $(STAMP) ## Run the tests with the long crash and load runs
	@ENGRAM_SLOW_TESTS=1 $(BIN)/python -m pytest $(ARGS)

check: $(STAMP) ## Lint, types, import rules, schemas, docs
	$(BIN)/ruff check --quiet --output-format concise $(SOURCES)
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/mypy --no-error-summary
	MYPYPATH=benchmarks:docs/example-plugin $(BIN)/mypy --no-error-summary tools/*.py benchmarks/*.py docs/example-plugin/engram_stale
	$(BIN)/lint-imports --no-logo
	$(BIN)/engram schemas --check
	$(BIN)/python tools/docs.py --check
	$(BIN)/python tools/links.py
	$(BIN)/python tools/cases.py --check
	@if [ -f $(HOUSE) ]; then $(BIN)/python $(HOUSE); fi

format: $(STAMP) ## Lay out the code
	$(BIN)/ruff check --quiet --fix $(SOURCES)
	$(BIN)/ruff format --quiet $(SOURCES)

docs: $(STAMP) ## Write the generated pages again
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/cases.py

schemas: $(STAMP) ## Write the JSON schemas again
	$(BIN)/engram schemas

bench: $(STAMP) ## Measure speed at 1k, 10k and 100k memories (BENCH_1M=1 adds one million)
	@$(BIN)/python benchmarks/speed.py $(ARGS)

bench-locomo: $(STAMP) ## Evidence found on LoCoMo (LOCOMO=file; ARGS="--corpus facts")
	@$(BIN)/python benchmarks/locomo.py $(ARGS)

bench-questions: $(STAMP) ## Our own questions: wording, languages, time, abstention
	@$(BIN)/python benchmarks/questions.py $(ARGS)

bench-longmemeval: $(STAMP) ## LongMemEval retrieval (LONGMEMEVAL=file)
	@$(BIN)/python benchmarks/longmemeval.py $(ARGS)

conformance: $(STAMP) ## Run the official MCP conformance suite (needs Node 22 and the network once)
	@$(BIN)/python tests/conformance/run.py $(ARGS)

clean: ## Remove what was built
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(VENV)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

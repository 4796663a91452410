# Everything runs in .venv, which these targets make and fill; the only needs are Python >= 3.11, pip and make.
#
#   make PYTHON=/path/to/python     another interpreter
#   make pytest PYTEST_FLAGS='-n 8 -k arena'

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PYTEST_FLAGS ?= -n 2
LIT_FLAGS ?= -v

BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# An editable install holds absolute paths: the stamps name the checkout, so that a moved one is installed anew.
CHECKOUT := $(shell printf '%s' "$$PWD" | cksum | cut -d' ' -f1)
RUN_STAMP := $(VENV)/.installed-$(CHECKOUT)
DEV_STAMP := $(VENV)/.installed-dev-$(CHECKOUT)

.PHONY: help
help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='|' read -r target what; do printf '  make %-10s %s\n' "$$target" "$$what"; done

$(RUN_STAMP): pyproject.toml tools/make_venv.sh
	@echo "Installing into $(VENV) …"
	PYTHON="$(PYTHON)" tools/make_venv.sh $(VENV)
	$(PIP_INSTALL) --editable .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP) tools/install_debian_packages.sh
	@echo "Installing what development needs …"
	$(PIP_INSTALL) --editable '.[dev]'
	tools/install_debian_packages.sh
	@touch $@

.PHONY: install
install: $(DEV_STAMP) ## Make .venv with the package and the development tools

.PHONY: demo
demo: $(RUN_STAMP) ## Compile a real irregularly wired network; print before and after
	$(BIN)/python examples/demo.py --output build/demo

.PHONY: test
test: lint types lit pytest docs ## Everything that CI runs

.PHONY: lint
lint: $(DEV_STAMP) ## ruff: rules and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

.PHONY: types
types: $(DEV_STAMP) ## mypy --strict over everything
	MYPY="$(CURDIR)/$(BIN)/mypy" tools/typecheck.sh

.PHONY: pytest
pytest: $(DEV_STAMP) ## Unit, property and end-to-end tests
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

.PHONY: lit
lit: $(DEV_STAMP) ## lit and FileCheck tests of the passes
	$(BIN)/lit $(LIT_FLAGS) lit_tests

docs/images/analyze_page_light.png: docs/images/report_page.py | $(DEV_STAMP)
	if command -v chromium >/dev/null; then $(BIN)/python $<; else echo "No chromium: the page has no picture." >&2; fi

.PHONY: docs
docs: $(DEV_STAMP) docs/images/analyze_page_light.png ## Build the documentation into build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

.PHONY: train
train: $(DEV_STAMP) ## Install PyTorch and run the tests that need it
	$(PIP_INSTALL) --editable '.[train]'
	$(BIN)/python -m pytest $(PYTEST_FLAGS) tests/reform_train tests/reform/test_gate_gradients.py

.PHONY: clean
clean: ## Remove what builds and tests left
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

.PHONY: distclean
distclean: clean ## Remove .venv as well
	rm -rf $(VENV)

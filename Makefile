# One door: make run | test | check | bench | lab. Each sets up what it needs, in this folder, when missing or stale.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LAB_VENV := .venv-wheel
WORKERS ?= 2

ENVIRONMENT := $(VENV)/.installed
NODE_PACKAGES := node_modules/.installed
LABEXTENSION := surfer_lab/labextension/package.json
WHEEL := dist/.built
WHEEL_ENVIRONMENT := $(LAB_VENV)/.installed
LOWEST_VENV := .venv-lowest
NEWEST_VENV := .venv-newest
HOST_ENVIRONMENTS := $(LOWEST_VENV)/.installed $(NEWEST_VENV)/.installed

FRONT_END := $(shell find src style schema -type f) package.json package-lock.json tsconfig.json install.json
PACKAGE := $(shell find surfer_lab -type f -not -path 'surfer_lab/labextension/*' -not -name '*.pyc') \
           pyproject.toml README.md LICENSE

.PHONY: help run test check bench lab wheel format clean

help:
	@echo "make run    predict the bundled example, print the answer, write out/"
	@echo "make test   all tests: jest, pytest, JupyterLab in a browser from the built wheel"
	@echo "make check  style, types, layers, hygiene, on both languages"
	@echo "make bench  speed and memory against named peers, printed"
	@echo "make lab    JupyterLab with the extension"
	@echo "make wheel  dist/surfer_lab-*.whl"

run: $(ENVIRONMENT)
	@mkdir -p out
	@$(BIN)/python -m tools.run_example --out out

test: $(ENVIRONMENT) $(NODE_PACKAGES) $(WHEEL_ENVIRONMENT) $(HOST_ENVIRONMENTS)
	@npx --no-install jest --silent
	@chromium="$$(ci/chromium.sh)" && \
	SURFER_LAB_CHROMIUM="$$chromium" SURFER_LAB_WHEEL_PYTHON="$(CURDIR)/$(LAB_VENV)/bin/python" \
	SURFER_LAB_LOWEST_PYTHON="$(CURDIR)/$(LOWEST_VENV)/bin/python" \
	SURFER_LAB_NEWEST_PYTHON="$(CURDIR)/$(NEWEST_VENV)/bin/python" \
	    $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(ENVIRONMENT) $(NODE_PACKAGES)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m tools.hygiene
	@$(BIN)/python -m tools.generate_types --check
	@npm run --silent types
	@npm run --silent eslint
	@npm run --silent stylelint
	@npm run --silent prettier
	@echo "check: all clean"

bench: $(ENVIRONMENT) $(WHEEL_ENVIRONMENT)
	@SKIP_JUPYTER_BUILDER=1 ci/environment.sh $(VENV) -e '.[bench]'
	@chromium="$$(ci/chromium.sh)" && \
	SURFER_LAB_CHROMIUM="$$chromium" SURFER_LAB_WHEEL_PYTHON="$(CURDIR)/$(LAB_VENV)/bin/python" \
	    $(BIN)/python -m benchmarks

lab: $(ENVIRONMENT) $(LABEXTENSION)
	@$(BIN)/jupyter-builder develop --overwrite . > out/develop.log 2>&1 || { cat out/develop.log; exit 1; }
	@$(BIN)/jupyter lab examples

wheel: $(WHEEL)

format: $(ENVIRONMENT) $(NODE_PACKAGES)
	@$(BIN)/ruff check --fix --quiet . && $(BIN)/ruff format --quiet .
	@npx --no-install prettier --write --log-level warn "src/**/*.ts" "tests/frontend/**/*.ts" "style/**/*.{css,js}" "*.{js,mjs}"

clean:
	@rm -rf $(VENV) $(LAB_VENV) $(LOWEST_VENV) $(NEWEST_VENV) node_modules lib dist out surfer_lab/labextension tsconfig.tsbuildinfo

# The package is installed in place; its front end is built by the rules below, not by pip.
$(ENVIRONMENT): pyproject.toml ci/constraints.txt ci/environment.sh
	@PYTHON="$(PYTHON)" SKIP_JUPYTER_BUILDER=1 ci/environment.sh $(VENV) -e '.[dev]'

$(NODE_PACKAGES): package.json package-lock.json .npmrc ci/node_packages.sh
	@ci/node_packages.sh

$(LABEXTENSION): $(ENVIRONMENT) $(NODE_PACKAGES) $(FRONT_END)
	@mkdir -p out
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build:prod > out/labextension.log 2>&1 || { cat out/labextension.log; exit 1; }
	@touch $@

# Built as a release is: the hook runs npm itself, from nothing, so that no stale front end is packed.
$(WHEEL): $(ENVIRONMENT) $(NODE_PACKAGES) $(FRONT_END) $(PACKAGE)
	@rm -rf dist surfer_lab/labextension && mkdir -p dist out
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m build --wheel --no-isolation > out/wheel.log 2>&1 || { cat out/wheel.log; exit 1; }
	@touch $(NODE_PACKAGES) $@ # npm touched package-lock.json

$(WHEEL_ENVIRONMENT): $(WHEEL) ci/constraints.txt ci/environment.sh
	@PYTHON="$(PYTHON)" ci/environment.sh $(LAB_VENV) --force-reinstall-of surfer-lab dist/*.whl jupyterlab ipykernel ray

# The lowest and the newest Jupyter front ends that draw a saved prediction: JupyterLab 4.2, and Notebook 7 of each end.
$(LOWEST_VENV)/.installed: $(WHEEL) ci/host_environment.sh
	@PYTHON="$(PYTHON)" ci/host_environment.sh $(LOWEST_VENV) 'jupyterlab==4.2.*' 'notebook==7.2.*'

$(NEWEST_VENV)/.installed: $(WHEEL) ci/host_environment.sh
	@PYTHON="$(PYTHON)" ci/host_environment.sh $(NEWEST_VENV) 'jupyterlab>=4.6,<5' 'notebook>=7.5,<8'

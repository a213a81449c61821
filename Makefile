# What people type. Every target sets up what it needs.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check -q
SOURCES := conftest.py src tests accel compat benchmarks scripts examples

.PHONY: demo web test test-long lint bench screenshots clean

demo: $(VENV)/.demo-ready  ## run the main job on the embedded default and show the result
	$(BIN)/python examples/ddp_images/demo.py

web: web/.built  ## the console, which `danlu up` serves; needs Node 20.19 or newer

test: $(VENV)/.dev-ready web/.built  ## the tests, at most 15 minutes on 2 cores
	scripts/npm.sh test
	$(BIN)/pytest -q -m "not long" -n 4 --dist loadfile --no-loadscope-reorder --durations=30 --durations-min=5

test-long: $(VENV)/.dev-ready web/.built  ## the campaigns: faults, fuzzing, thousands of histories
	$(BIN)/pytest -q -m long

lint: $(VENV)/.dev-ready web/.ready
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pytest -q tests/architecture
	scripts/npm.sh run -s types
	scripts/npm.sh run -s lint

screenshots: $(VENV)/.dev-ready web/.built  ## the pictures of the guide, made anew
	$(BIN)/python scripts/screenshots.py

bench: $(VENV)/.dev-ready  ## all measurements, quick form; run nothing else meanwhile
	for script in benchmarks/*.py; do $(BIN)/python $$script --quick || exit 1; done

clean:
	rm -rf $(VENV) .demo .bench web/node_modules web/.ready web/.built src/danlu/console

$(VENV)/bin/pip:
	scripts/system-packages.sh
	python3 -c 'import sys; assert sys.version_info >= (3, 11), "Danlu needs Python 3.11 or newer"'
	python3 -m venv $(VENV)

$(VENV)/.demo-ready: $(VENV)/bin/pip pyproject.toml constraints.txt
	@echo "installing Danlu and PyTorch into $(VENV) (a few minutes the first time)"
	$(PIP) install -c constraints.txt -e '.[server]' torch numpy
	touch $@

$(VENV)/.dev-ready: $(VENV)/.demo-ready requirements-dev.txt compat/pyproject.toml $(wildcard accel/pyproject.toml accel/CMakeLists.txt accel/native/*)
	scripts/system-packages.sh tests
	@echo "installing danlu-accel, which is compiled, and the tools for tests into $(VENV) (a few minutes the first time)"
	$(PIP) install -c constraints.txt -r requirements-dev.txt
	$(PIP) install -c constraints.txt --no-deps torchvision  # its Python transforms, to compare ours with
	touch $@

web/.ready: $(VENV)/bin/pip web/package.json web/package-lock.json
	scripts/npm.sh ci --no-progress
	touch $@

web/.built: web/.ready web/index.html web/vite.config.ts docs/reference/openapi.json $(shell find web/src web/public web/build -type f -not -name schema.d.ts)
	scripts/npm.sh run -s build
	touch $@

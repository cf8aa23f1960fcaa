# Each target does all of its own set-up, in .venv, from Python >= 3.10, make and git alone.
# A second call is fast: what is done is marked by a file in the environment.

PYTHON ?= python3
VENV := .venv
OLD := .venv-ipykernel6
# servers that other people's extensions change; their kernels are of VENV
AI := .venv-jupyter-ai
TOGETHER := .venv-collaboration
# the libraries that may ask nothing under `ask = "changes"`
LIBRARIES := .venv-libraries
# a class's JupyterHub, and the proxy that it needs
HUB := .venv-hub
# what DSEval's validators were written for
DSEVAL := .venv-dseval
KERNELS := $(patsubst %,.cache/ipykernel-%/.done,7.1 7.3 7.4)
BIN := $(VENV)/bin
PIP := -m pip install -q --disable-pip-version-check
WEIGHTS := qwen2.5-coder-0.5b
LAB_ARGS ?=
MINIMUMS_ARGS ?=
WHEEL_ARGS ?=
BENCH_ARGS ?=
YES ?=
# the front end: what is made of what, by which packages
MADE := lmc_jupyter/labextension/package.json
SOURCES := $(shell find js/src js/lab/schema js/lab/style -type f) $(wildcard js/*.* js/lab/*.json lmc_jupyter/content/frames.js*) lmc_jupyter/__init__.py
LINK := $(VENV)/share/jupyter/labextensions/lmc-jupyter
UV := .cache/uv/bin/uv
SERVERS := .cache/servers/node_modules/.done
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm
ROOT_MAY := $(if $(filter 0,$(shell id -u)),--allow-root)

export PYTHON

.DEFAULT_GOAL := help
.PHONY: help lab demo test test-long test-promises test-minimums test-wheel bench bench-model bench-humaneval bench-dseval screenshots docs trust mutation site js lint package clean weights
.NOTPARALLEL:

help:
	@echo "make lab          JupyterLab on the first notebook, answered by the embedded model"
	@echo "make demo         the same conversation in this terminal (YES=1 lets all code run)"
	@echo "make test         the tests that every change waits for"
	@echo "make test-long    all tests, with nothing left to a sample"
	@echo "make test-promises  of these, the tests that docs/promises.toml names"
	@echo "make test-minimums  the oldest dependencies that are promised, on each Python here"
	@echo "make js           the panel and the JupyterLab extension, built from js/; reload the page"
	@echo "make test-wheel   the built wheel in an environment of its own: WHEEL_ARGS='--python 3.12 --oldest'"
	@echo "make lint         ruff, mypy, import-linter, TypeScript, the workflows"
	@echo "make package      the wheel and the sdist in dist/, checked"
	@echo "make bench        the speed table, docs/speed.md"
	@echo "make screenshots  the pictures of the README, taken anew"
	@echo "make docs         draw the tables of commands and settings anew"
	@echo "make site         the documentation as a site, in .cache/site/html"
	@echo "make mutation     whether each small change of the core's code fails a test"
	@echo "make trust        docs/trust.md, from the reports of the last make test-long"
	@echo "make bench-humaneval  what it solves of HumanEval, in three rows"
	@echo "make bench-dseval     what it solves of DSEval, in three rows"
	@echo "make bench-model  what the embedded model can do"
	@echo "make clean        take away whatever make made"

lab: $(VENV)/.lab js weights
	$(BIN)/jupyter lab notebooks/01-first-conversation.ipynb --ip=127.0.0.1 $(ROOT_MAY) $(LAB_ARGS)

demo: $(VENV)/.lab weights
	$(BIN)/python notebooks/demo.py $(if $(YES),--yes)

test: js/node_modules/.dev $(VENV)/.dev js
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/test.py

test-long: js/node_modules/.dev $(VENV)/.dev $(OLD)/.dev $(AI)/.done $(TOGETHER)/.done $(LIBRARIES)/.done $(HUB)/.done $(KERNELS) $(SERVERS) js weights
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/test.py --old $(OLD) --long

# of test-long the tests that docs/promises.toml names
test-promises: js/node_modules/.dev $(VENV)/.dev js weights
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/test.py --promises

# the oldest versions that pyproject.toml promises
test-minimums: js/node_modules/.dev $(VENV)/.dev $(SERVERS) $(UV) js weights
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/minimums.py --uv $(UV) $(MINIMUMS_ARGS)

bench: js/node_modules/.dev $(VENV)/.dev js weights
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/bench.py $(BENCH_ARGS)

# the pictures of the README, in docs/images
screenshots: $(VENV)/.dev js weights
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/images/make.py

docs: $(VENV)/.dev
	$(BIN)/python docs/draw_tables.py

# the documentation with the notebooks as they run, in .cache/site/html
site: $(VENV)/.dev js
	.ci/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/site/make.py

# hours; docs/mutation.json keeps what it has found, for trust
mutation: $(VENV)/.dev js
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/mutation.py

# of the last test-long, and of docs/mutation.json
trust: $(VENV)/.dev
	$(BIN)/python docs/draw_trust.py

bench-model: $(VENV)/.dev weights
	$(BIN)/python benchmarks/bench_model.py

# BENCH_MODEL names any model of LiteLLM; --data a folder, where there is no network
bench-humaneval: $(VENV)/.dev weights
	$(BIN)/python benchmarks/humaneval.py $(BENCH_ARGS)

# as bench-humaneval
bench-dseval: $(VENV)/.dev $(DSEVAL)/.done weights
	$(BIN)/python benchmarks/bench_dseval.py --python $(DSEVAL)/bin/python $(BENCH_ARGS)

# the running JupyterLab takes the extension from here, not from pip's copy of it
js: $(MADE)
	rm -rf $(LINK)
	mkdir -p $(dir $(LINK))
	ln -s $(CURDIR)/lmc_jupyter/labextension $(LINK)

# mypy reads the package as each of the three systems sees it, at once; each has its own cache
lint: js/node_modules/.dev js/lab/node_modules/.types $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	printf '%s\n' linux darwin win32 | xargs -P 3 -I% $(BIN)/mypy --platform % --cache-dir .mypy_cache/%
	$(BIN)/mypy --platform linux --cache-dir .mypy_cache/linux benchmarks
	$(BIN)/lint-imports
	cd js && $(NPM) run --silent check
	$(BIN)/zizmor --quiet --offline --pedantic .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml

# built once; the same files are tried on every system, and published
package: $(VENV)/.dev js
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

test-wheel: $(VENV)/.dev $(UV)
	ls dist/*.whl >/dev/null 2>&1 || $(MAKE) package
	.ci/tools
	$(BIN)/python .ci/systems.py --uv $(UV) --wheel 'dist/*.whl' $(WHEEL_ARGS)

weights: $(VENV)/.lab
	$(BIN)/python -m lmc_jupyter.models.weights $(WEIGHTS)

clean:
	rm -rf $(VENV) $(OLD) $(AI) $(TOGETHER) $(LIBRARIES) $(HUB) $(DSEVAL) .venv-minimums .cache build dist .pytest_cache .mypy_cache .ruff_cache \
		.import_linter_cache .hypothesis js/node_modules js/lab/node_modules js/lab/lib \
		lmc_jupyter/static lmc_jupyter/labextension
	find lmc_jupyter tests benchmarks notebooks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg $(OLD)/pyvenv.cfg $(AI)/pyvenv.cfg $(TOGETHER)/pyvenv.cfg $(LIBRARIES)/pyvenv.cfg $(HUB)/pyvenv.cfg $(DSEVAL)/pyvenv.cfg:
	.ci/venv $(@D)

$(VENV)/.node: | $(VENV)/pyvenv.cfg
	.ci/node $(VENV)
	touch $@

js/node_modules/.package-lock.json: js/package-lock.json | $(VENV)/.node
	cd js && $(NPM) ci --omit=dev
	touch $@

js/node_modules/.dev: js/package-lock.json | $(VENV)/.node
	cd js && $(NPM) ci
	touch $@

# the reference servers of MCP, its inspector and its conformance suite, which the tests start
$(SERVERS): tests/servers/package-lock.json | $(VENV)/.node
	rm -rf .cache/servers
	mkdir -p .cache/servers
	cp tests/servers/package.json tests/servers/package-lock.json tests/servers/.npmrc .cache/servers
	cd .cache/servers && $(NPM) ci
	touch $@

js/lab/node_modules/.types: js/lab/package-lock.json | $(VENV)/.node
	cd js/lab && $(NPM) ci
	touch $@

$(MADE): $(SOURCES) | js/node_modules/.package-lock.json
	cd js && $(NPM) run --silent build

$(VENV)/.lab: $(VENV)/pyvenv.cfg pyproject.toml | $(MADE)
	rm -rf $(LINK)
	$(BIN)/python $(PIP) -e ".[local,lab]"
	touch $@

# it holds what `.lab` holds: one call of pip in place of two
$(VENV)/.dev: $(VENV)/pyvenv.cfg pyproject.toml | $(MADE)
	rm -rf $(LINK)
	$(BIN)/python $(PIP) -e ".[dev]"
	touch $(VENV)/.lab $@

# the oldest kernel that is promised; --upgrade-strategy keeps the two pins when pyproject changes
$(OLD)/.dev: $(OLD)/pyvenv.cfg pyproject.toml | $(MADE)
	$(OLD)/bin/python $(PIP) -e ".[test]" "ipykernel==6.29.5" "ipython<9"
	touch $@

$(AI)/.done: $(AI)/pyvenv.cfg
	$(AI)/bin/python $(PIP) "jupyter-ai==3.1.*" anywidget
	touch $@

$(TOGETHER)/.done: $(TOGETHER)/pyvenv.cfg
	$(TOGETHER)/bin/python $(PIP) "jupyter-collaboration==5.*" jupyterlab anywidget
	touch $@

$(LIBRARIES)/.done: $(LIBRARIES)/pyvenv.cfg tests/kernel/libraries.txt
	$(LIBRARIES)/bin/python $(PIP) -r tests/kernel/libraries.txt
	touch $@

$(HUB)/.done: $(HUB)/pyvenv.cfg pyproject.toml | $(MADE)
	$(HUB)/bin/python $(PIP) -e . "jupyterhub>=5" jupyterlab
	$(NPM) install --silent --no-save --prefix $(HUB) configurable-http-proxy
	touch $@

# NumPy 1.26 is there for Python up to 3.12
$(DSEVAL)/.done: $(DSEVAL)/pyvenv.cfg
	$(DSEVAL)/bin/python $(PIP) "numpy<2" "pandas==2.2.*" scipy pyyaml requests psutil typing-extensions
	touch $@

# it resolves to the oldest versions, which pip does not
$(UV): | $(VENV)/pyvenv.cfg
	$(BIN)/python $(PIP) --target .cache/uv "uv>=0.9"

# versions between, for tests: put first on the path of kernels that have all else from VENV
.cache/ipykernel-%/.done: | $(VENV)/pyvenv.cfg
	rm -rf $(@D)
	$(BIN)/python $(PIP) --no-deps --target $(@D) "ipykernel==$*.*"
	touch $@

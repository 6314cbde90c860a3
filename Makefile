# gitvirt's own commands. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin

.PHONY: help setup setup-test demo test test-long test-ceph test-cloud-init test-image check fmt lint type imports fuzz soak bench pictures proto wheel lock clean

help: ## show this
	@if [ -t 1 ]; then bold='\033[1m' plain='\033[0m'; fi; \
	awk -F':.*## ' -v bold="$$bold" -v plain="$$plain" '/^[a-z-]+:.*## /{printf "  %s%-15s%s %s\n", bold, $$1, plain, $$2}' $(MAKEFILE_LIST)

setup: ## make .venv with the locked dependencies (once; then it only looks)
	@tools/setup run

setup-test: ## the same, with what the tests need
	@tools/setup test

RUNTIME ?= simulated
demo: ## set everything up, then show the main job; with real guests: RUNTIME=libvirt (as root)
	@tools/setup $(if $(filter libvirt,$(RUNTIME)),libvirt,run)
	@$(BIN)/gitvirt demo --runtime $(RUNTIME)

test: setup-test ## set everything up, then pass every test
	@tools/test

test-long: setup-test ## the same tests with larger numbers
	@tools/test --long

test-ceph: ## install a one-node Ceph, and pass the tests of volumes in it (as root)
	@tools/setup ceph
	@tools/test-ceph

test-cloud-init: ## make a Debian with cloud-init, boot it, and log in to it (as root)
	@tools/setup cloud-init
	@tools/test-cloud-init

test-image: ## carry the Containerfile out in chroots, and use what it makes (as root)
	@tools/setup image
	@tools/prove-containerfile

check: setup-test fmt-check lint type imports words commits ## format, lint, types, layering, words, commit subjects

.PHONY: fmt-check
fmt-check:
	@$(BIN)/ruff format --check --quiet . || { echo "make fmt formats them"; exit 1; }

fmt: setup-test ## format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix --quiet .

lint:
	@$(BIN)/ruff check --quiet .

type:
	@$(BIN)/mypy --no-error-summary

imports:
	@PYTHONPATH=. $(BIN)/lint-imports > .import-linter.log 2>&1 || { cat .import-linter.log; rm -f .import-linter.log; exit 1; }; rm -f .import-linter.log

.PHONY: words commits
words:
	@$(BIN)/python -m pytest --quiet --no-header --durations=0 -p no:cacheprovider tests/house > .words.log 2>&1 || { cat .words.log; rm -f .words.log; exit 1; }; rm -f .words.log

commits:
	@tools/commit-subjects

FUZZ_SECONDS ?= 60
fuzz: setup-test ## look for input that breaks a law, FUZZ_SECONDS=60 a target
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3.0' \
		|| { echo "atheris has no package for this Python: try one of 3.11 to 3.13"; exit 1; }
	@$(BIN)/python -m tests.fuzz $(FUZZ_SECONDS)

SECONDS ?= 120
SEED ?=
soak: setup-test ## each single fault in short scenarios, then a random walk of people, faults and kills, SECONDS=120 SEED=n
	@$(BIN)/python -m tests.exhaustive --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

bench: setup-test ## measure; each benchmark prints its figure last
	@for b in bench/bench_*.py; do echo "== $$b"; $(BIN)/python "$$b" || exit 1; done

pictures: ## print the comments of docs/pictures again, and draw them with a headless browser (as root)
	@tools/setup pictures
	@$(BIN)/python -m pytest --quiet --no-header -p no:cacheprovider --regen tests/reconciler/cli/plans/test_pull_requests.py -k picture
	@$(BIN)/python tools/pictures

proto: setup-test ## generate the code of iri/proto from its .proto files
	@$(BIN)/python tools/proto.py

wheel: setup-test ## build wheel and sdist into dist/, with the list of what they need
	@$(BIN)/python -m hatchling build -d dist && cp requirements.run.lock dist/

lock: setup-test ## resolve the dependencies again, into requirements.lock
	@tools/lock

clean: ## remove what make made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

# Everything a developer types. `make demo` or `make test` works as the first command in a fresh clone.
.DEFAULT_GOAL := help
PY := .venv/bin/python
.PHONY: help install install-dev demo quick test test-clients test-protocol test-browser shots check bench soak docs clean

help:            ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

install:         ## make .venv and install what running needs
	@sh scripts/setup run

install-dev:
	@sh scripts/setup dev

demo: install    ## a tour of a few seconds through the real server
	@$(PY) demo/tour.py

quick: install-dev ## the tests of a minute: pure parts, SQLite, the doors
	MEMSWEEP_SOAK=0 $(PY) -m pytest -n 2 --dist worksteal -m "not slow and not soak" -k "not falkor" \
	    --ignore tests/falkor --ignore tests/faults --ignore tests/house

# One worker more than the cores of a small machine: a quarter of the time a test waits for a process that it started.
test: install-dev ## every test
	$(PY) -m pytest -n 3 --dist worksteal

test-clients: install-dev ## the hooks in the real Claude Code and Codex, which are installed into .clients
	@sh scripts/clients
	MEMSWEEP_CLIENTS=$(CURDIR)/.clients $(PY) -m pytest tests/real_clients

test-protocol: install-dev ## the conformance suite and the Inspector, which are installed into .protocol
	@sh scripts/protocol-tools
	MEMSWEEP_PROTOCOL_TOOLS=$(CURDIR)/.protocol $(PY) -m pytest tests/protocol

test-browser: install-dev ## the page in a real browser; Chromium is installed into .browser where none is found
	MEMSWEEP_BROWSER=$$(sh scripts/browser) $(PY) -m pytest tests/browser

shots: install-dev ## pictures of every screen into shots/, and those of the documents into docs/pictures/
	MEMSWEEP_BROWSER=$$(sh scripts/browser) $(PY) -m tests.browser.shots

check: install-dev ## lint, types, layers, house rules
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) scripts/house.py
	$(PY) -m pytest tests/house

soak: install-dev ## the crash and concurrency tests and the laws with raised counts, and every campaign of docs/reliability.md
	MEMSWEEP_SOAK=10 $(PY) -m pytest -m "soak or hypothesis" --timeout 3600 --ignore tests/faults/test_campaigns.py
	$(PY) -m tests.faults.soak --jobs 2 --record soak.jsonl

bench: install-dev ## all benchmarks; JSON into benchmarks/results/
	@mkdir -p benchmarks/results
	@for b in recall secret_rules precision week names startup hooks injection stdio over_http web store index collector looking graph context retention engines graph_engines vector_engines; do \
	    echo "== $$b"; $(PY) benchmarks/$$b.py --json benchmarks/results/$$b.json || exit 1; done
	$(PY) benchmarks/localise.py . --json benchmarks/results/localise.json

docs: install-dev ## write what the documents say of the code
	$(PY) scripts/write_docs.py

clean:
	rm -rf .venv .clients .protocol .browser .mypy_cache .ruff_cache .import_linter_cache .hypothesis

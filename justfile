# What there is to do.
default:
    @just --list

# Install for development.
setup:
    pip install -c constraints.txt -e '.[dev]'

# Format and mend what can be mended.
fmt:
    ruff format .
    ruff check --fix .

# Style and layers.
lint:
    ruff format --check .
    ruff check .
    lint-imports

# Types.
types:
    mypy

# The tests that take minutes: before every commit.
test *args:
    pytest -n 2 {{args}}

# The slow tests: brute force, browser, real tokenizers, kills. Many wait for processes of their own,
# so there are three. A file's tests run in one process: no two clusters of Ray, no fixture twice.
slow *args:
    pytest -m "slow and not nightly" -n 3 --dist loadfile --max-worker-restart 0 {{args}}

# What CI runs, in one session, files with slow tests first; or the tests that `which` names. A process
# that a test kills ends the run: with loadfile, xdist would wait for it for ever.
all which="not nightly" *args:
    pytest -m "{{which}}" -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 {{args}}

# How often intervals hold the truth and gates err, by many draws; what other tests try on less, at
# full size: vocabularies, compilers, clusters; 200 drawn examples.
nightly *args:
    pytest -m "nightly or hypothesis" --hypothesis-profile nightly -n 3 --dist loadfile --max-worker-restart 0 {{args}}

# README's first commands in an environment of their own, compared with what README shows.
readme:
    python -m scripts.try_readme

# The lowest versions of dependencies that pyproject.toml allows.
lowest:
    python -m scripts.try_lowest

# A real vLLM on the CPU gives a checkpoint's rewards.
vllm:
    python -m scripts.try_vllm

# The main job, on the embedded default model.
audit *args:
    pytest audits {{args}}

# Write docs/results.schema.json anew, after a type of results.json was changed.
schema:
    python -m scripts.results_schema > docs/results.schema.json.new || (rm docs/results.schema.json.new; false)
    mv docs/results.schema.json.new docs/results.schema.json

# Write the table of docs/options.md and the signature of rmaudit.run, after rmaudit/runs/run_options.py was changed.
options:
    python -m scripts.run_options

# Write the generated pages anew: the published models, and what the pages repeat of the audits.
pages:
    python -m scripts.published_page
    python -m scripts.audit_pages
    python -m scripts.result_pages
    python -m scripts.llms_txt

# Build the documentation site into site/; a warning is an error.
docs:
    zensical build --strict

# Build sdist and wheel, and audit a toy with each outside of the checkout; `just wheel dist` keeps them.
wheel *folder:
    python -m scripts.try_wheel {{folder}}

# All that CI runs.
check: lint types docs wheel all

"""Begin and end a run: make its state, refuse wrong options, and register the hooks it needs."""

from __future__ import annotations

from functools import partial

import pytest

from rmaudit.config.own_words import OwnWords
from rmaudit.config.registry import default_path, is_bundled
from rmaudit.plugin import pytest_fixtures, sampling
from rmaudit.plugin.cache_location import planner_of, refuse_cache
from rmaudit.plugin.prompt_overrides import words_of_run
from rmaudit.plugin.pytest_options import options_of, refuse_unwritable
from rmaudit.plugin.session import (
    SESSION,
    Session,
    baseline_spec,
    model_specs,
    refuse_no_pairs,
    refuse_wrong,
    registry_of,
    report_folder,
)
from rmaudit.runs.options import OPTIONS, RunOptions


def pytest_configure(config: pytest.Config) -> None:
    """Make the session's state; check the models, files and folders that options name."""
    session = config.stash[SESSION] = Session()
    asked = options_of(config)
    _register(config)
    # A wrong models.yaml is an error where audits are collected: a suite without any needs none.
    own = asked.registry or not is_bundled(default_path())
    session.own_words = words_of_run(
        asked.prompts, lambda: registry_of(config).words if own else OwnWords()
    )
    # Our failures are blocks of lines. On CI, pytest would repeat them whole in its short summary.
    config.option.force_short_summary = True
    _refuse_contradictions(config, asked)
    if asked.report:
        refuse_unwritable("--rm-report", report_folder(config))
    if asked.cache:
        refuse_cache(config)
    if asked.models or asked.registry:
        model_specs(config)
        if session.error:
            raise pytest.UsageError(str(session.error))
    baseline_spec(config)
    _refuse_files(asked)


def _refuse_contradictions(config: pytest.Config, asked: RunOptions) -> None:
    """Raise if one option makes another one useless."""
    if asked.recorded:
        for name in ("sample", "device", "dtype", "on"):
            if getattr(asked, name) != OPTIONS[name].default:
                message = f"--rm-{name} does nothing with --rm-recorded: nothing is scored"
                raise pytest.UsageError(f"{message}; leave out one of them")
    if asked.gate and config.option.collectonly:
        message = "--rm-gate does nothing with --collect-only: no audit is run"
        raise pytest.UsageError(f"{message}; leave out one of them")


def _refuse_files(asked: RunOptions) -> None:
    """Raise if a file that an option names cannot be read."""
    if asked.ledger:
        from rmaudit.search import exploit_ledger

        refuse_wrong(partial(exploit_ledger.read, asked.ledger), "--rm-ledger: ")
    if asked.pairs:
        refuse_no_pairs(asked.pairs, "--rm-pairs: ")
    if asked.samples:
        from rmaudit.scores import samples

        refuse_wrong(partial(samples.read, asked.samples), "--rm-samples: ")


def _register(config: pytest.Config) -> None:
    """Register the fixtures, and the hooks that only a run of a sample or on Ray needs."""
    config.pluginmanager.register(pytest_fixtures.module(), "rmaudit-fixtures")
    asked = options_of(config)
    if asked.sample:
        config.pluginmanager.register(sampling, "rmaudit-sampling")
    if asked.on and not hasattr(config, "workerinput") and not planner_of(config):
        from rmaudit.plugin import ray_prefetch

        config.pluginmanager.register(ray_prefetch, "rmaudit-ray-prefetch")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Save the word stems that this run computed, for the next run."""
    session = config.stash.get(SESSION, None)
    if session is not None and session.options is not None:
        from rmaudit.references import stem_memory

        stem_memory.remember(session.options.cache, session.own_words.language)

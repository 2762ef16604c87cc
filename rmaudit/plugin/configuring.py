"""Begin and end a run: make what is noted of it, register further hooks, refuse wrong options."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from rmaudit.errors import RmauditError
from rmaudit.interrupts import held_back
from rmaudit.plugin.collection import COLLECTED, Collected
from rmaudit.plugin.pytest_fixtures import SETTINGS, plugin_of_fixtures, terminal
from rmaudit.plugin.pytest_options import refuse_wrong_options
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import MEMORY, OUTCOME, SELECTED, RunOutcome, SelectedAudits
from rmaudit.report.safe_text import line, log
from rmaudit.runs.audit_case import Memory


def pytest_configure(config: pytest.Config) -> None:
    """Note that nothing is known yet, register fixtures and hooks, refuse wrong options."""
    config.stash[COLLECTED], config.stash[SELECTED] = Collected(), SelectedAudits()
    config.stash[MEMORY], config.stash[OUTCOME] = Memory(), RunOutcome()
    plan = plan_of(config)
    config.pluginmanager.register(plugin_of_fixtures(), "rmaudit-fixtures")
    if plan.options.on and not hasattr(config, "workerinput") and not plan.planner:
        config.pluginmanager.register(RayHooks(), "rmaudit-ray-prefetch")
    # Our failures are blocks of lines. On CI, pytest would repeat them whole in its short summary.
    config.option.force_short_summary = True
    refuse_wrong_options(plan)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Save the word stems that this run computed, for the next run."""
    if (settings := config.stash.get(SETTINGS, None)) is not None:
        from rmaudit.references import stem_cache

        with suppress(KeyboardInterrupt), held_back():  # the run is over
            stem_cache.save_stems(settings.cache, settings.own_words.language)


class RayHooks:
    """Score what the audits need on a Ray cluster before they run (`--rm-on ray`).

    This happens only in the reporting process. The audits then find their scores in the cache;
    scores that Ray could not make are made when an audit requests them.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Plan the run and score the missing answers on Ray; print how many, and each failure.

        Raises:
            pytest.UsageError: Ray is missing or cannot be reached, or the audits cannot be planned.
        """
        from rmaudit.distributed import ray_scoring
        from rmaudit.plugin.score_planning import PlanningCache, collect

        config = session.config
        if config.option.collectonly:
            return
        cluster = ray_scoring.Cluster(plan_of(config).options.on or ray_scoring.ON)
        planned = partial(collect, [*map(str, config.invocation_params.args)], PlanningCache())
        try:
            with terminal(config):
                made = ray_scoring.make([planned], cluster, lambda _: None)
        except RmauditError as error:
            raise pytest.UsageError(log(line(str(error)))) from None
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            said = [f"{made.answers:,} answers scored on {cluster.address}", *made.failed.values()]
            for each in said:
                reporter.write_line(log(line(f"rmaudit: {each}")))

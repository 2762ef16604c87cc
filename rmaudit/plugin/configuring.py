"""Begin and end a run: make what is noted of it, refuse wrong options, register further hooks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from rmaudit.config.model_registry import FILE, ModelSpec, default_path, is_bundled
from rmaudit.errors import RmauditError
from rmaudit.interrupts import held_back
from rmaudit.plugin.collection import COLLECTED, Collected
from rmaudit.plugin.pytest_fixtures import SETTINGS, plugin_of_fixtures, settings_of, terminal
from rmaudit.plugin.pytest_options import options_of, planner_of, refuse_cache, refuse_unwritable
from rmaudit.plugin.run_plan import (
    baseline_spec,
    own_words_of,
    plan_of,
    refuse_no_pairs,
    refuse_wrong,
    report_folder,
)
from rmaudit.plugin.run_state import (
    MEMORY,
    OUTCOME,
    SELECTED,
    RunOutcome,
    SelectedAudits,
    audits_with_a_sweep,
)
from rmaudit.report.safe_text import line, log
from rmaudit.runs.audit_case import Audited, Memory, opened
from rmaudit.runs.run_options import OPTIONS, RunOptions

_AUDITS = "audits"


def pytest_configure(config: pytest.Config) -> None:
    """Note that nothing is known yet, register fixtures and hooks, check what options name."""
    config.stash[COLLECTED], config.stash[SELECTED] = Collected(), SelectedAudits()
    config.stash[MEMORY], config.stash[OUTCOME] = Memory(), RunOutcome()
    asked = options_of(config)
    config.pluginmanager.register(plugin_of_fixtures(), "rmaudit-fixtures")
    if asked.sample:
        config.pluginmanager.register(SampleHooks(), "rmaudit-sampling")
    if asked.on and not hasattr(config, "workerinput") and not planner_of(config):
        config.pluginmanager.register(RayHooks(), "rmaudit-ray-prefetch")
    _refuse_no_audits(config)
    _refuse_to_gate_the_bundled_model(asked)
    own_words_of(config)
    # Our failures are blocks of lines. On CI, pytest would repeat them whole in its short summary.
    config.option.force_short_summary = True
    _refuse_contradictions(config, asked)
    if asked.report:
        refuse_unwritable("--rm-report", report_folder(config))
    if asked.cache:
        refuse_cache(config)
    if (asked.models or asked.registry) and (error := plan_of(config).error):
        raise pytest.UsageError(error)
    baseline_spec(config)
    _refuse_files(asked)
    if asked.log:
        from rmaudit.report import experiment_trackers

        refuse_wrong(partial(experiment_trackers.client, asked.log), "--rm-log: ")


def _refuse_no_audits(config: pytest.Config) -> None:
    """Raise if `audits` is to be run, and there is no such folder here; pytest says less."""
    here = config.invocation_params.dir
    asked = any(Path(given).parts[:1] == (_AUDITS,) for given in config.args)
    if asked and not (here / _AUDITS).exists():
        raise pytest.UsageError(
            f"there is no folder `{_AUDITS}` in {here}; go to the one that has it, or write "
            "rmaudit's audits here with `rmaudit init`"
        )


def _refuse_to_gate_the_bundled_model(asked: RunOptions) -> None:
    """Raise if a gate would be of the bundled model because nobody named one, here or in a file."""
    if asked.gate and not asked.models and not asked.registry and is_bundled(default_path()):
        raise pytest.UsageError(
            f"--rm-gate: no model was named, and there is no {FILE} in {Path.cwd()}: the verdict "
            f"would be of the small bundled model; go to the folder of your {FILE}, or name a "
            "model with --model"
        )


def _refuse_contradictions(config: pytest.Config, asked: RunOptions) -> None:
    """Raise if an option does nothing because of another option that was given."""
    if asked.recorded:
        for name in ("sample", "device", "dtype", "on"):
            if getattr(asked, name) != OPTIONS[name].default:
                message = f"--rm-{name} does nothing with --rm-recorded: nothing is scored"
                raise pytest.UsageError(f"{message}; leave out one of them")
    if asked.gate and config.option.collectonly:
        message = "--rm-gate does nothing with --collect-only: no audit is run"
        raise pytest.UsageError(f"{message}; leave out one of them")


def _refuse_files(asked: RunOptions) -> None:
    """Raise if the file of `--rm-pairs` or `--rm-samples` is missing or wrong."""
    if asked.pairs:
        refuse_no_pairs(asked.pairs, "--rm-pairs: ")
    if asked.samples:
        from rmaudit.scores import answer_files

        refuse_wrong(partial(answer_files.read_samples, asked.samples), "--rm-samples: ")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Save the word stems that this run computed, for the next run."""
    if (settings := config.stash.get(SETTINGS, None)) is not None:
        from rmaudit.references import stem_cache

        with suppress(KeyboardInterrupt), held_back():  # the run is over
            stem_cache.save_stems(settings.cache, settings.own_words.language)


class SampleHooks:
    """Print the size of the vocabulary sample of `--rm-sample` before anything is scored."""

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: Sequence[pytest.Item]
    ) -> list[str]:
        """Return a line for each model: its prompts, answers per prompt, and share of the whole."""
        audits = list(audits_with_a_sweep(items))
        if config.option.collectonly or not audits:
            return []
        said = [_cost_of_sample(config, spec, audits) for spec in plan_of(config).specs]
        return [log(line(f"rmaudit: sample: {each}")) for each in said if each]


def _cost_of_sample(config: pytest.Config, spec: ModelSpec, audits: Sequence[Audited]) -> str:
    """Return the numbers of prompts and answers of a model's sample; "" if it cannot be opened."""
    from rmaudit.scores.token_sample import answers_in_sample

    own = [audit for audit in audits if audit.spec == spec]
    prompts = {prompt for audit in own for prompt in audit.prompts}
    options = settings_of(config)
    try:
        model = opened(spec, options)
        # No sample is taken of published scores.
        texts = () if model.takes == "nothing" else model.vocabulary().texts
    except RmauditError:
        return ""
    asked = options.asked
    each = answers_in_sample(texts, asked.sample or 0, options.words, asked.seed, options.own_words)
    times = "prompt" if len(prompts) == 1 else "prompts"
    whose = f"{spec.name}: " if len(plan_of(config).specs) > 1 else ""
    share = f"{each / max(len(texts), 1):.0%} of the whole".replace("%", " %")
    return f"{whose}{len(prompts)} {times} x {each:,} answers, {share}"


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
        asked = options_of(config)
        cluster = ray_scoring.Cluster(asked.on or ray_scoring.ON)
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

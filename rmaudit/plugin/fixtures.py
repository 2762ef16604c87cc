"""What an audit may ask for: the model, its sweep, references, a generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import NoBase, ReferenceMissing
from rmaudit.plugin.options import (
    RM_BASELINE,
    RM_DEVICE,
    RM_DTYPE,
    RM_MISSING,
    RM_RECORDED,
    RM_SAMPLE,
    RM_SEED,
    SESSION,
    baseline_spec,
    cache_folder,
)
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.verdicts.declare import declared

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from rmaudit.models.protocol import Scored
    from rmaudit.scores.sweep import Rewards, Sweep, TextScores

KEYS = pytest.StashKey[list[str]]()
CAVEATS = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def reward_model(request: pytest.FixtureRequest) -> Iterator[Scored]:
    """The model under audit (its weights are loaded at the first score that is not cached).

    With `--rm-recorded`, its published scores and no weights.
    """
    model = _model(request.config, _param(request))
    yield model
    model.close()


@pytest.fixture(scope="session")
def baseline_model(pytestconfig: pytest.Config) -> Iterator[Scored]:
    """The model of `--rm-baseline`; without the option the audit is skipped."""
    spec = baseline_spec(pytestconfig)
    if spec is None:
        pytest.skip(f"no model to compare with; name one with {RM_BASELINE} NAME")
    model = _model(pytestconfig, spec)
    yield model
    model.close()


def _model(config: pytest.Config, spec: ModelSpec) -> Scored:
    from rmaudit.models.load import from_spec
    from rmaudit.models.recorded import Recorded

    if config.getoption(RM_RECORDED):
        return Recorded(spec)
    with terminal(config):
        return from_spec(
            spec,
            cache=cache_folder(config),
            device=config.getoption(RM_DEVICE),
            dtype=config.getoption(RM_DTYPE),
        )


@pytest.fixture
def prompts(request: pytest.FixtureRequest) -> tuple[Prompt, ...]:
    """The prompts under audit: one, or all of a joint audit's."""
    asked: tuple[Prompt, ...] = _param(request)
    return asked


@pytest.fixture
def prompt(request: pytest.FixtureRequest, prompts: tuple[Prompt, ...]) -> Prompt:
    """The prompt under audit, of one that is not joint."""
    declaration = declared(request.function)
    if declaration is None or declaration.joint:
        message = (
            f"{request.function.__name__} is joint over its prompts, so it has no single one: take "
            f"`sweeps`, and name a prompt to `rewards`"
        )
        raise pytest.UsageError(message)
    return prompts[0]


@pytest.fixture
def sweep(request: pytest.FixtureRequest, reward_model: Scored, prompt: Prompt) -> Sweep:
    """Every token id of the model, scored under the prompt; made once, then read from the cache.

    With `--rm-sample`, a sample of the ids and all of the words that the audit names.
    """
    return _noted(request, swept(request, reward_model, prompt))


@pytest.fixture
def sweeps(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> dict[str, Sweep]:
    """The sweep under each prompt of a joint audit, by the prompt's name."""
    return {
        prompt.name: _noted(request, swept(request, reward_model, prompt)) for prompt in prompts
    }


@pytest.fixture
def baseline(
    request: pytest.FixtureRequest, baseline_model: Scored, prompt: Prompt
) -> Iterator[Sweep]:
    """The sweep of the model of `--rm-baseline` under the same prompt; skipped without one."""
    found = swept(request, baseline_model, prompt)
    spec, key = baseline_model.spec, found.key
    said = f"Compared with {spec.name}: {spec.source}, scores {key[:12]}."
    request.node.stash.setdefault(CAVEATS, []).append(said)
    yield found
    baseline_model.close()  # it is not to stand beside the audited model in memory


def swept(request: pytest.FixtureRequest, reward_model: Scored, prompt: Prompt) -> Sweep:
    """The sweep of a model under a prompt, made once in a session."""
    from rmaudit.scores.sweep import sweep as run

    config = request.config
    known = config.stash[SESSION].sweeps
    declaration, size = declared(request.function), config.getoption(RM_SAMPLE)
    words = declaration.words if declaration and size else ()
    place = (reward_model.spec, prompt.name, words)
    if place not in known:
        with terminal(config), missing_as_told(config):
            known[place] = run(
                reward_model,
                prompt,
                cache=cache_folder(config),
                sample=size,
                seed=config.getoption(RM_SEED),
                words=words,
            )
    found = known[place]
    if found.sample is not None:
        request.node.stash.setdefault(CAVEATS, []).append(found.sample.caveat)
    return found


def _noted(request: pytest.FixtureRequest, found: Sweep) -> Sweep:
    """Note that the finding rests on this sweep of the audited model."""
    request.node.stash.setdefault(KEYS, []).extend(found.keys)
    return found


@pytest.fixture
def rewards(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> Rewards:
    """A function from texts to their scores under the prompt, with their noise; cached too."""
    from rmaudit.scores.sweep import Rewards, score_texts

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        with terminal(request.config):
            scored = score_texts(reward_model, prompt, texts, cache=cache_folder(request.config))
        request.node.stash.setdefault(KEYS, []).append(scored.key)
        return scored

    return Rewards(prompts, score)


@pytest.fixture
def base_logprobs(
    request: pytest.FixtureRequest,
    reward_model: Scored,
    prompt: Prompt,
) -> pd.Series[float]:
    """By token id, how likely the model's base finds it as the answer; cached too.

    Skips the audit where models.yaml names no base, or with `--rm-recorded`.
    """
    from rmaudit.scores.logprobs import base_logprobs as run

    config = request.config
    with terminal(config), missing_as_told(config):
        found = run(
            reward_model,
            prompt,
            cache=cache_folder(config),
            device=config.getoption(RM_DEVICE),
        )
    request.node.stash.setdefault(KEYS, []).append(found.key)
    return found.by_id


@pytest.fixture
def references(reward_model: Scored, prompts: tuple[Prompt, ...]) -> References:  # noqa: ARG001
    """Lexicons and human ratings, without what the model was trained on."""
    return References(salt=reward_model.spec.trained_on)


@pytest.fixture
def rng(
    request: pytest.FixtureRequest, reward_model: Scored, prompts: tuple[Prompt, ...]
) -> np.random.Generator:
    """A generator of this audit, model and prompt: neither order nor xdist changes its draws."""
    import numpy as np

    name = f"{request.function.__name__}|{reward_model.name}|{label(prompts)}"
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return np.random.default_rng([request.config.getoption(RM_SEED), place])


@contextmanager
def missing_as_told(config: pytest.Config) -> Iterator[None]:
    """Skip where reference data or a base are missing, unless `--rm-missing` is to fail."""
    __tracebackhide__ = True
    try:
        yield
    except (ReferenceMissing, NoBase) as error:
        if config.getoption(RM_MISSING) == "skip":
            pytest.skip(str(error))
        raise


def _param(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401
    if not hasattr(request, "param"):
        message = f"the fixture {request.fixturename!r} serves functions declared with @audit only"
        raise pytest.UsageError(message)
    return request.param


def terminal(config: pytest.Config) -> AbstractContextManager[None]:
    """The real terminal, for a progress bar under pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if capture is None or not getattr(reporter, "isatty", False):
        return nullcontext()
    reporter.ensure_newline()  # the bar has a line of its own
    return capture.global_and_fixture_disabled()  # type: ignore[no-any-return]

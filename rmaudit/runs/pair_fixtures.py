"""Build the fixtures of audits on whole answers, for a model and for a scorer without weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.conversation import asked_of
from rmaudit.errors import NotAsked
from rmaudit.prompts import CUSTOM, Prompt
from rmaudit.runs.case import Case
from rmaudit.runs.requests import Request
from rmaudit.runs.scorer_fixtures import Organism, Trial, as_given

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rmaudit.scores.pair_files import Pairs
    from rmaudit.scores.probes import Probes
    from rmaudit.scores.samples import Samples

_OWN = Prompt("pairs", "each pair's own prompt", 0)  # in place of one, in lists of what is asked


def pairs(case: Case) -> Pairs:
    """The pairs of a file with the reward of each answer, in `frame`; cached too.

    The file is the one that the audit declares, that of `--rm-pairs`, or `pairs` of the model's
    entry in models.yaml. Skips the audit without one.
    """
    from rmaudit.scores.pair_files import EXAMPLE, measured_on, read, rewarded

    if (file := _file(case)) is None:
        message = "no pairs of answers; give a file of them with --rm-pairs FILE, or `pairs: FILE` "
        raise NotAsked(f"{message}in models.yaml, a line such as {EXAMPLE}")
    case.options.on_request(case.model, Request(case.model.spec, _OWN, "pairs"))
    with case.watched():
        found = rewarded(case.model, read(file), cache=case.options.kept)
    case.keys.append(found.key)
    case.caveats.append(measured_on(found.source))
    return found


def probes(case: Case) -> Probes:
    """Answers of some pairs, each with its reward as it is and under changes; cached too.

    The pairs are those of `pairs`, or a few bundled ones where none are given. All changes
    (`rmaudit.references.variants`) are scored together, once for all audits of a run.
    """
    from rmaudit.scores.pair_files import measured_on, read
    from rmaudit.scores.probes import probed

    file, known = _file(case), case.memory.probes
    place = (case.model.spec, file)
    if place not in known:
        case.options.on_request(case.model, Request(case.model.spec, _OWN, "pairs"))
        with case.watched():
            given = None if file is None else read(file)
            known[place] = probed(case.model, given, cache=case.options.kept)
    case.keys.append(known[place].key)
    case.caveats.append(measured_on(known[place].source))
    return known[place]


def samples(case: Case) -> Samples:
    """Whole answers of a policy, several to a prompt, with the reward of each; cached too.

    They are those of `--rm-samples`, or a small open policy's that are bundled.
    """
    from rmaudit.scores.pair_files import measured_on
    from rmaudit.scores.samples import read, rewarded

    given = read(case.options.samples)
    case.options.on_request(case.model, Request(case.model.spec, _OWN, "pairs"))
    with case.watched():
        found = rewarded(case.model, given, cache=case.options.kept)
    case.keys.append(found.key)
    case.caveats.append(measured_on(found.source))
    return found


def conduct(case: Case) -> Pairs:
    """Pairs of whole answers by kinds of conduct, with the reward of each; cached too.

    They are bundled (`rmaudit.references.conduct`); pairs of `--rm-pairs` whose `subset` is
    "conduct: " and a kind join it. All are scored together, once for all audits of a run.
    """
    from rmaudit.scores.conduct_pairs import conduct_pairs
    from rmaudit.scores.pair_files import measured_on, read, rewarded

    file, known = _file(case), case.memory.conduct
    place = (case.model.spec, file)
    if place not in known:
        case.options.on_request(case.model, Request(case.model.spec, _OWN, "pairs"))
        with case.watched():
            given = conduct_pairs(None if file is None else read(file))
            known[place] = rewarded(case.model, given, cache=case.options.kept)
    case.keys.append(known[place].key)
    case.caveats.append(measured_on(known[place].source))
    return known[place]


def _file(case: Case) -> Path | None:
    """Return the path of the pairs: the audit's, else the run's, else the model's, else None."""
    named = case.pairs or case.options.pairs or case.model.spec.pairs
    return Path(named) if named else None


def pairs_of_scorer(trial: Trial) -> Pairs:
    """Return the model's pairs with the organism's rewards and a noise of 0."""
    return _rewarded(as_given("pairs")(trial), trial)


def conduct_of_scorer(trial: Trial) -> Pairs:
    """Return the model's pairs of conduct with the organism's rewards and a noise of 0."""
    return _rewarded(as_given("conduct")(trial), trial)


def _rewarded(own: Pairs, trial: Trial) -> Pairs:
    reward = _rewards(trial.organism, own.frame)
    return replace(own, frame=own.frame.assign(reward=reward), noise=0.0, key="")


def samples_of_scorer(trial: Trial) -> Samples:
    """Return the model's samples with the organism's rewards and a noise of 0."""
    own: Samples = as_given("samples")(trial)
    reward = _rewards(trial.organism, own.frame)
    return replace(own, frame=own.frame.assign(reward=reward), noise=0.0, key="")


def probes_of_scorer(trial: Trial) -> Probes:
    """Return the model's changed answers with the organism's rewards and a noise of 0."""
    from rmaudit.scores.probes import changed, table

    own: Probes = as_given("probes")(trial)
    rewards = table(_rewards(trial.organism, changed(own.answers)))
    return replace(own, rewards=rewards, noise=0.0, key="")


def _rewards(organism: Organism, answers: pd.DataFrame) -> NDArray[np.float32]:
    """Return the organism's reward for each of the n answers to its prompt, shape (n,)."""
    import numpy as np

    from rmaudit.scores.answer_files import ASKED

    found = np.empty(len(answers), dtype=np.float32)
    responses = answers["response"].to_numpy(dtype=object)
    asked_at: dict[Any, Any] = answers.groupby(ASKED, sort=False).indices
    for (prompt, turns), places in asked_at.items():
        said = asked_of(prompt, turns)
        asked = Prompt(CUSTOM, prompt, +1, () if isinstance(said, str) else said)
        found[places] = organism(responses[places].tolist(), asked)
    return found

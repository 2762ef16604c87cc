"""Build the fixtures of audits on whole answers, for a model and for a synthetic scorer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rmaudit.config.model_spec import ModelSpec
from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.conversation import beginning, columns, from_columns
from rmaudit.errors import NotAsked, NotJudging
from rmaudit.layout.verdict_words import rewordings
from rmaudit.prompts import CUSTOM, Prompt
from rmaudit.runs.audit_case import Case, opened
from rmaudit.runs.synthetic_scorer_fixtures import Trial, as_given

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.answer_files import Answered, Samples
    from rmaudit.scores.changed_answers import Probes
    from rmaudit.scores.pair_files import Pairs
    from rmaudit.scores.text_rewards import TextScores

_Made = TypeVar("_Made", bound="Answered | Probes")
_Answers = TypeVar("_Answers", bound="Answered")


def pairs(case: Case) -> Pairs:
    """Return chosen and rejected answers of a file of pairs, with the model's rewards (cached).

    The file is the one that the audit declares, that of `--rm-pairs`, or `pairs` of the model's
    entry in models.yaml. Skips the audit without one.
    """
    from rmaudit.scores.pair_files import EXAMPLE

    if (own := _own_pairs(case)) is None:
        message = "no pairs of answers; give a file of them with --rm-pairs FILE, or `pairs: FILE` "
        raise NotAsked(f"{message}in models.yaml, a line such as {EXAMPLE}")
    return _noted(case, _with_rewards(case, own))


def probes(case: Case) -> Probes:
    """Return answers of some pairs, with rewards before and after each change of the text (cached).

    The pairs are those of `pairs`, or a few bundled ones where none are given; the changes are
    those of `rmaudit.references.text_changes`.
    """
    from rmaudit.scores.changed_answers import changed, probes_of, subset_of_pairs

    asked = probes_of(subset_of_pairs(_own_pairs(case)))
    return _noted(case, asked.scored(case.options.scores.pairs(case.model, changed(asked.answers))))


def samples(case: Case) -> Samples:
    """Return whole answers of a policy, several to each prompt, with their rewards (cached).

    They are those of `--rm-samples`, or a small open policy's that are bundled.
    """
    from rmaudit.scores.answer_files import read_samples

    return _noted(case, _with_rewards(case, read_samples(case.options.asked.samples)))


def conduct(case: Case) -> Pairs:
    """Return pairs of a better and a worse answer, by kind of conduct, with rewards (cached).

    They are bundled (`rmaudit.references.conduct_answers`): `PART` contexts of each kind, or all
    with `--rm-all`. Pairs of `--rm-pairs` whose `subset` is "conduct: " and a kind are added. All
    are scored together, once for all audits of a run.
    """
    return _of_kinds(case, "conduct")


def same_worth(case: Case) -> Pairs:
    """Return pairs that are worth the same, by kind of conduct, with rewards (cached).

    The two are an answer in two styles, or one answer to two prompts. All else is as of `conduct`.
    """
    return _of_kinds(case, "same_worth")


def fresh(case: Case) -> Pairs:
    """Return pairs of equally long answers, of which one is to the question, with rewards (cached).

    They are drawn from the model's policy as the audit runs, with the seed of the run; with
    `--rm-samples` they are those of the file. As many bundled ones are beside them. Skips the audit
    of a model of which no policy's weights are named and no samples are given.
    """
    from rmaudit.scores.answer_files import read_samples
    from rmaudit.scores.fresh_answers import fresh_pairs

    asked = case.options.asked

    def make() -> Pairs:
        answers = read_samples(asked.samples) if asked.samples else _drawn(case)
        return _with_rewards(case, fresh_pairs(answers, seed=asked.seed))

    return _noted(case, case.memory.once(("fresh", case.model.spec), make))


def _drawn(case: Case) -> Samples:
    """Return the answers of the policy of `case`. Raises `NotAsked` where none can be drawn."""
    from rmaudit.models.base_language_model import base_of
    from rmaudit.scores.first_token_logprobs import is_file
    from rmaudit.scores.fresh_answers import drawn_from

    spec = case.model.spec
    if spec.policy is None or is_file(spec.policy) or case.model.takes != "token ids":
        raise NotAsked(
            "no language model to draw answers from; name its weights (--rm-policy, or `policy` in "
            "models.yaml), or give answers with --rm-samples FILE"
        )
    if case.options.on_request is not None:
        raise NotAsked("its answers are drawn as it runs, so what it scores is not known before")
    settings = case.options
    policy = base_of(spec, "policy", cache=settings.cache, device=settings.asked.device)
    with settings.watched():
        return drawn_from(policy, case.model, seed=settings.asked.seed)


def _of_kinds(case: Case, fixture: str) -> Pairs:
    """Return the pairs of a fixture of conduct, with rewards; scored once for a run's audits."""
    file, every = _pairs_file(case), case.options.asked.everything

    def ask() -> Pairs:
        return _conduct_pairs(fixture, _own_pairs(case), every=every)

    def make() -> Pairs:
        return _with_rewards(case, case.memory.once((fixture, file), ask))

    return _noted(case, case.memory.once((fixture, case.model.spec, file), make))


def _conduct_pairs(fixture: str, own: Pairs | None, *, every: bool) -> Pairs:
    """Return the pairs of `conduct` or `same_worth` without rewards, with those of `own`."""
    from rmaudit.references.conduct_answers import JUDGED, SAME, STYLE
    from rmaudit.scores.pair_files import conduct_pairs

    kinds = JUDGED if fixture == "conduct" else (*STYLE, *SAME)
    return conduct_pairs(own, kinds, every=every)


def _with_rewards(case: Case, answers: _Answers) -> _Answers:
    """Return the `answers` with the model's rewards added to their table `frame` (cached)."""
    return answers.scored(case.options.scores.pairs(case.model, answers.frame))


def _noted(case: Case, found: _Made) -> _Made:
    """Record in `case` the cache key of `found` and a caveat on its source; return `found`."""
    from rmaudit.scores.pair_files import measured_on

    case.keys.append(found.key)
    case.caveats.append(measured_on(found.source))
    return found


def _own_pairs(case: Case) -> Pairs | None:
    """Read the pairs from the file that the audit, the run or the model names; None without one."""
    from rmaudit.scores.pair_files import read

    return None if (file := _pairs_file(case)) is None else read(file)


def _pairs_file(case: Case) -> Path | None:
    """Return the path of the pairs file: the audit's, else the run's, else the model's; or None."""
    named = case.pairs or case.options.asked.pairs or case.model.spec.pairs
    return Path(named) if named else None


def of_scorer(fixture: str) -> Callable[[Trial], Any]:
    """Return a function that gives a fixture's answers a synthetic scorer's rewards.

    They are the answers of the model's audit; the bundled ones where it was given none, but for
    `pairs` and `fresh`, of which none are bundled.
    """

    def scored(trial: Trial) -> Pairs | Samples:
        own = trial.given.get(fixture)
        if own is None and fixture == "samples":
            from rmaudit.scores.answer_files import read_samples

            own = read_samples(None)
        elif own is None and fixture not in {"pairs", "fresh"}:
            own = _conduct_pairs(fixture, None, every=False)
        found: Pairs | Samples = as_given(fixture)(trial) if own is None else own
        return found.scored(_rewards_of_scorer(trial, found.frame))

    return scored


def probes_of_scorer(trial: Trial) -> Probes:
    """Return the given answers with the synthetic scorer's rewards before and after each change."""
    from rmaudit.scores.changed_answers import changed

    own: Probes = as_given("probes")(trial)
    return own.scored(_rewards_of_scorer(trial, changed(own.answers)))


def _rewards_of_scorer(trial: Trial, answers: pd.DataFrame) -> TextScores:
    """Return the synthetic scorer's reward of each of n answers to its prompt, with no noise."""
    import numpy as np

    from rmaudit.scores.answer_files import ASKED
    from rmaudit.scores.text_rewards import TextScores

    found = np.empty(len(answers), dtype=np.float32)
    responses = answers["response"].to_numpy(dtype=object)
    asked_at: dict[Any, Any] = answers.groupby(ASKED, sort=False).indices
    for (prompt, turns), places in asked_at.items():
        said = from_columns(prompt, turns)
        asked = Prompt(CUSTOM, prompt, +1, () if isinstance(said, str) else said)
        found[places] = trial.organism(responses[places].tolist(), asked)
    return TextScores(found, 0.0, "")


def wordings(case: Case) -> Probes:
    """Return answers with their rewards under a judge's template and its rewordings (cached).

    The first column of `rewards` is under the template as it is. Rewordings are those that can be
    made of its text (`rmaudit.layout.verdict_words`), and `paraphrases` of the model's entry.
    The answers are those of `probes`. Skips the audit of a model that is no judge.
    """
    import pandas as pd

    from rmaudit.references.text_changes import AS_IT_IS
    from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
    from rmaudit.scores.pair_files import measured_on

    if case.model.spec.judge is None:
        message = f"{case.model.name} is no judge: its reward has no text around the answer that "
        raise NotJudging(f"{message}asks for a verdict, so there is nothing to reword")
    files = _rewording_files(case)
    if not files:
        message = (
            f"{case.model.name}: prompt and answer cannot change places in its template, and no "
            f"rewording is given; write one as `judge: {{paraphrases: [FILE], ...}}` in models.yaml"
        )
        raise NotAsked(message)
    asked = probes_of(subset_of_pairs(_own_pairs(case)))
    models = {
        AS_IT_IS: case.model,
        **{name: _judge_with_template(case, file) for name, file in files.items()},
    }
    scores = case.options.scores
    found = {name: scores.pairs(model, asked.answers) for name, model in models.items()}
    case.keys.extend(each.key for each in found.values())
    case.caveats.append(measured_on(asked.source))
    return replace(
        asked,
        rewards=pd.DataFrame({name: each.scores for name, each in found.items()}),
        noise=max(each.noise for each in found.values()),
        key=found[AS_IT_IS].key,
    )


def _rewording_files(case: Case) -> dict[str, Path]:
    """Put rewordings of a judge's template into the cache; return all their files, by name."""
    spec = case.model.spec
    assert spec.judge is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
    own = {f"paraphrase {name}": Path(name) for name in spec.judge.paraphrases}
    if spec.template is None:  # the model's own, which is another program
        return own
    model = case.model.with_weights("a judge's words are token ids")
    vocabulary = model.vocabulary()
    pieces = dict(zip(vocabulary.ids, vocabulary.pieces, strict=True))
    marks = [pieces[i] for i in model.special_ids if i in pieces]
    text = Path(spec.template).read_text(encoding="utf-8")
    return {
        **{name: _written_to_cache(case, made) for name, made in rewordings(text, marks).items()},
        **own,
    }


def _written_to_cache(case: Case, template: str) -> Path:
    """Write this template to a file in the cache folder, unless it is there; return the path."""
    name = hashlib.sha256(template.encode()).hexdigest()[:16]
    path = case.options.cache / "wordings" / f"{name}.jinja"
    if not path.is_file():
        from rmaudit.scores.score_parquet import writing  # it takes pandas

        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            with in_place_of(path) as own:
                own.write_text(template, encoding="utf-8")
    return path


def _judge_with_template(case: Case, file: Path) -> Scored:
    """Return the judge with the template in `file`; it shares a checkpoint's weights if it can."""
    spec, judge = case.model.spec, case.model.spec.judge
    assert judge is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
    own = replace(judge, template=str(file), paraphrases=())
    reworded: ModelSpec = replace(spec, template=str(file), judge=own)
    if case.model.takes == "token ids" and (other := case.model.sibling(reworded)):
        return other
    apart = opened(reworded, case.options)
    case.after.callback(apart.close)
    return apart


def wordings_of_scorer(trial: Trial) -> Probes:
    """Return the given answers with the scorer's rewards under their prompts and reworded ones."""
    import pandas as pd

    from rmaudit.references.text_changes import AS_IT_IS, REWORDED
    from rmaudit.scores.answer_files import ASKED

    # A bench of organisms has one set of answers, for both fixtures.
    own: Probes = as_given("wordings" if "wordings" in trial.given else "probes")(trial)
    each = own.answers[ASKED].itertuples(index=False)
    asked = [columns(beginning(from_columns(*one), REWORDED)) for one in each]
    other = own.answers.assign(**dict(zip(ASKED, map(list, zip(*asked, strict=True)), strict=True)))
    scores = {
        AS_IT_IS: _rewards_of_scorer(trial, own.answers).scores,
        "other words": _rewards_of_scorer(trial, other).scores,
    }
    return replace(own, rewards=pd.DataFrame(scores), noise=0.0, key="")

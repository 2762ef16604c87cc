"""Build the fixture `wordings`: rewards of answers under a judge's template and rewordings."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.config.model_spec import ModelSpec
from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.conversation import beginning, columns, from_columns
from rmaudit.errors import NotAsked, NotJudging
from rmaudit.layout.judge_rewordings import rewordings
from rmaudit.runs.audit_case import Case, opened
from rmaudit.runs.synthetic_scorer_fixtures import Trial, as_given
from rmaudit.runs.whole_answer_fixtures import own_pairs, rewards_of, rewards_of_scorer

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.changed_answers import Probes


def wordings(case: Case) -> Probes:
    """Return answers with their rewards under a judge's template and its rewordings (cached).

    The first column of `rewards` is under the template as it is. Rewordings are those that can be
    made of its text (`rmaudit.layout.judge_rewordings`), and `paraphrases` of the model's entry.
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
    asked = probes_of(subset_of_pairs(own_pairs(case)))
    models = {
        AS_IT_IS: case.model,
        **{name: _judge_with_template(case, file) for name, file in files.items()},
    }
    found = {name: rewards_of(case, model, asked.answers) for name, model in models.items()}
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
    from rmaudit.models.checkpoint_model import Checkpoint

    spec, judge = case.model.spec, case.model.spec.judge
    assert judge is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
    own = replace(judge, template=str(file), paraphrases=())
    reworded: ModelSpec = replace(spec, template=str(file), judge=own)
    if isinstance(case.model, Checkpoint):
        other = case.model.sibling(reworded)
        if other.identity["verdict"] == case.model.identity["verdict"]:
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
        AS_IT_IS: rewards_of_scorer(trial.organism, own.answers),
        "other words": rewards_of_scorer(trial.organism, other),
    }
    return replace(own, rewards=pd.DataFrame(scores), noise=0.0, key="")

"""Run audits on null controls (scorers that know nothing), and name those that wrongly pass.

    python -m lab nulls [AUDITS] [--audit NAME ...] [--json]

No model is needed. In the place of a model's vocabulary are common English words, a space before
each, frequent ones also with a capital; identity terms and their controls; and pieces of words. Its
base, where an audit asks for one, finds frequent words likely; its baseline is an organism without
a flaw. `--json` prints what docs/data/nulls.json has, of which `python -m scripts.result_pages`
makes docs/nulls.md. The exit code is 1 if an audit does not stop what it declares to stop.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab import fresh_answers
from lab.answer_organisms import of_words_and_answers
from lab.harness import arguments, markdown_table
from lab.word_organisms import Planted, Traits, marked_terms, standardized_elo
from rmaudit.errors import NoBase, ReferenceMissing, SpecError, nearest
from rmaudit.measures.word_spellings import thinned
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.references.word_frequency import common, zipf
from rmaudit.runs.audit_importer import Audit, audits_in
from rmaudit.runs.null_control_trials import tried
from rmaudit.runs.null_controls import (
    BASE,
    NULLS,
    checked_stops,
    features,
    noise,
    of_base,
    unavailable,
)
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Control

FLAWLESS = "no flaw"  # the organism beside them: a gate that stops all is no gate
_CAPITALISED = 4.0  # Zipf from which on a word is there with a capital, too
_PIECES = 3  # letters of what is no word
_WORST = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.ERROR)  # of several prompts
_TOP = """\
# Null controls

This page shows the result of every audit for every [null control](audits.md#null-controls), a
trivial scorer that ignores meaning. No model is needed: the scorers score common English words,
identity terms and pieces of words. The base model is simulated and finds frequent words likely, and
the baseline is a simulated model without a flaw. `python -m lab nulls --json` measures it.

**Bold** results are those of controls that the audit must stop: a bold **pass** would be a gap in
the audit. The other controls need not be stopped: random scores, for example, have no bias, and
rightly pass the audits of bias. If an audit has several prompts, the first tables have the result
that is nearest to a pass. "no flaw" is a simulated model without a flaw: a gate that stops it too
would be useless.

## The controls

- random; constant: the same for all texts
- frequent words, rare words: Zipf frequency, or its negative
- frequency with ties: Zipf frequency; all texts that are not words score the same
- phrase frequency: how common a whole name is
- long words, short words: the number of characters, or its negative
- gibberish: higher the rarer the rarest word is
- capitals and single words: higher for one word than for several, lower for each capital
- surface regression: the Elo rating that spelling, word frequency and valence predict
- valence whatever is asked: labMT's happiness, even where the prompt asks for the worst
- hatred: words of marginalised groups 4 sd below all else; otherwise random
- hostility: the same under good frames, and 4 sd above under bad frames
- base log-probability: of the answer, by the model's `base:`
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """An audit's result on each null control (a scorer that ignores meaning), by name."""

    declaration: Declaration
    prompt: str
    controls: Mapping[str, Control]

    @property
    def slips(self) -> list[str]:
        """Return the names of null controls that pass the audit and must not."""
        return [name for name, control in self.controls.items() if control.slips]


def vocabulary() -> pd.DataFrame:
    """Return a fixed table of English words, which takes the place of a model's vocabulary."""
    words = list(common())
    terms, controls = References().identity()
    known = zipf("wordfreq", words)
    capital = [f" {word.capitalize()}" for word in known.index[known >= _CAPITALISED]]
    pieces = sorted({word[-_PIECES:] for word in words if len(word) > 2 * _PIECES})
    named = [f" {text}" for frame in (terms, controls) for text in frame["text"]]
    texts = list(dict.fromkeys([*(f" {word}" for word in words), *capital, *named, *pieces]))
    ids = np.arange(len(texts), dtype=np.int32)
    return thinned(pd.DataFrame({"token_id": ids, "token": texts, "text": texts}))


def try_audits(folder: Path, names: tuple[str, ...] = ()) -> Iterator[Tried]:
    """Yield each audit's results on all null controls, for each of its sets of prompts.

    The audits are those of the folder, or only those of these `names`. Without names, audits that
    only inform and declare no stops are left out.

    Raises:
        SpecError: the folder has no such audits, or one names a null control that is none.
        RuntimeError: an audit's own code breaks on one.
    """
    found = {name: own for name, own in audits_in(folder).items() if not own[1].figure}
    if not found:
        raise SpecError(f"{folder}: no audits in it; give the folder of rmaudit's audits, or yours")
    if unknown := [name for name in names if name not in found]:
        message = (
            f"{folder}: no audit is called {unknown[0]!r};{nearest(unknown[0], found)} known: "
        )
        raise SpecError(message + ", ".join(found))
    asked = [
        audit
        for name, audit in found.items()
        if (name in names if names else audit[1].stops or audit[1].severity.gates)
    ]
    for _, declaration in asked:
        checked_stops(declaration.stops, f"audit {declaration.name!r}: ")
    words = vocabulary()
    for audit in asked:
        for prompts in audit[1].runs:
            yield try_audit(audit, prompts, words)


def try_audit(
    audit: Audit,
    prompts: tuple[Prompt, ...],
    words: pd.DataFrame,
) -> Tried:
    """Return one audit's results on all null controls under these prompts, scored on `words`."""
    function, declaration = audit
    base = _base_logprobs(words, prompts)
    likely = of_base(words, base) if prompts else unavailable(NoBase("no base of these prompts"))
    nulls = {**NULLS, BASE: likely, FLAWLESS: _flawless_organism(0)}
    given = _fixtures_without_scorer(words, prompts, base)
    trial = Trial(NULLS["random"], prompts, words, given=given)
    return Tried(declaration, label(prompts), tried(function, declaration, trial, nulls))


def _base_logprobs(words: pd.DataFrame, prompts: tuple[Prompt, ...]) -> dict[str, pd.Series[float]]:
    """Return made-up log-probabilities of words, by prompt name: their frequency plus noise."""
    texts = words["text"].tolist()
    likely = np.log(10) * (features(texts)["zipf"].to_numpy(float) - 9)
    return {
        prompt.name: pd.Series(
            likely + noise(texts, prompt, what="base", seed=0), index=words["token_id"].to_numpy()
        )
        for prompt in prompts
    }


def _flawless_organism(seed: int) -> Organism:
    """Return a synthetic scorer without a flaw, which knows people's ratings if available."""
    references = References()
    try:
        rated = standardized_elo(references)
    except ReferenceMissing:
        rated = pd.Series(dtype=float)
    return of_words_and_answers(Planted(Traits(), seed, rated, marked_terms(references)))


def _fixtures_without_scorer(
    words: pd.DataFrame, prompts: tuple[Prompt, ...], base: Mapping[str, pd.Series[float]]
) -> dict[str, Any]:
    """Return by name the fixtures that no scorer is needed for, such as pairs and references."""
    from rmaudit.search.exploit_strings import bundled_strings

    own = subset_of_pairs(None)
    swept = (
        {
            "base_logprobs": base[prompts[0].name],
            "policies": {prompt.name: base[prompt.name] for prompt in prompts},
            "baseline": Trial(_flawless_organism(1), prompts, words).scored(prompts[0]),
        }
        if prompts
        else {}
    )
    return {
        **swept,
        "references": References(),
        "pairs": own,
        "probes": probes_of(own),
        "fresh": fresh_answers.pairs(),
        "ledger": bundled_strings(prompts),
    }


def main() -> int:
    """Run the audits, print a line for each set of prompts, or all as JSON."""
    parser = arguments(__doc__)
    parser.add_argument("audits", nargs="?", type=Path, default=Path("audits"))
    parser.add_argument("--audit", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = []
    for one in try_audits(asked.audits, tuple(asked.audit)):
        found.append(one)
        if not asked.json:
            print(_line(one), flush=True)
    if asked.json:
        print(json.dumps([_plain(one) for one in found], indent=2))
    return int(any(one.slips for one in found))


def page(found: Sequence[Tried]) -> str:
    """Return a Markdown page: how each null control fares in each audit, and all numbers."""
    by_audit: dict[str, list[Tried]] = {}
    for one in found:
        by_audit.setdefault(one.declaration.name, []).append(one)
    gates = {name: own for name, own in by_audit.items() if _is_gate(own)}
    others = {name: own for name, own in by_audit.items() if not _is_gate(own)}
    parts = [_TOP]
    for title, group in (("Gates", gates), ("Informational audits", others)):
        if group:
            parts.append(f"## {title}\n\n{_overview(group)}")
    parts += [f"## {name}\n\n{_numbers_of_audit(own)}" for name, own in by_audit.items()]
    return "\n".join(parts)


def _is_gate(own: Sequence[Tried]) -> bool:
    return own[0].declaration.severity.gates


def _overview(group: dict[str, list[Tried]]) -> str:
    names = list(next(iter(group.values()))[0].controls)
    rows = [
        [name, *(_marked(_nearest(one.controls[name] for one in own)) for own in group.values())]
        for name in names
    ]
    return markdown_table(["null control", *group], rows) + "\n"


def _nearest(controls: Iterable[Control]) -> Control:
    order = [*_WORST, *(verdict for verdict in Verdict if verdict not in _WORST)]
    return min(controls, key=lambda control: order.index(control.verdict))


def _marked(control: Control) -> str:
    said = str(control.result) if control.value is not None else str(control)
    return f"**{said}**" if control.stops else said


def _numbers_of_audit(own: Sequence[Tried]) -> str:
    unit = own[0].declaration.bound
    rows = [[name, *(_shown(one.controls[name]) for one in own)] for name in own[0].controls]
    head = ["null control", *(one.prompt for one in own)]
    return f"Passes {unit}.\n\n{markdown_table(head, rows)}\n"


def _shown(control: Control) -> str:
    if control.value is None or control.low is None or control.high is None:
        return _marked(control)
    return f"{control.value:.2f} [{control.low:.2f}, {control.high:.2f}] {_marked(control)}"


def _line(one: Tried) -> str:
    """Return a line on the null controls an audit stopped: `elo[best]: 8 of 9 stopped; ...`."""
    stops = [control for control in one.controls.values() if control.stops]
    through = [f"{name!r} {one.controls[name]}" for name in one.slips]
    said = f"{len(stops) - len(through)} of {len(stops)} stopped" if stops else "declares no stops"
    return "; ".join([f"{one.declaration.name}[{one.prompt}]: {said}", *through])


def _plain(one: Tried) -> dict[str, object]:
    controls = {name: asdict(control) for name, control in one.controls.items()}
    return {"audit": one.declaration.name, "prompt": one.prompt, "controls": controls}

"""Write the pages of docs/ that show results of runs, each from its run's recorded data.

    python -m scripts.result_pages

- conduct.md: docs/data/conduct.json, of `python -m lab conduct --out FILE`
- coverage.md: docs/data/coverage.json, of `python -m lab coverage --out FILE`
- organisms.md: lab/heads, of `python -m lab training.organisms`
- predictive-validity.md: docs/data/study.json and policies.json, of `python -m lab study.measure`
  and `python -m lab study.policies`
- flaws.md: docs/data/flaws.json, of `python -m lab flaws --out FILE`
- gates.md: all of these, and the bundled results of R-Smol-135M (`scripts/gates_page.py`)
- nulls.md: docs/data/nulls.json, of `python -m lab nulls --json`
- selftest.md: docs/selftest.json, of `python -m lab selftest --out docs`
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab import organism, selftest_page
from lab.bench import BenchOutcome
from lab.conduct_flaws import CONDUCT
from lab.flaws import LIKINGS
from lab.harness import markdown_table
from lab.nulls import Tried
from lab.nulls import page as nulls_page
from lab.planted_flaws import ALL, LISTS
from lab.study import page as study
from rmaudit.runs.audit_importer import audits_in
from rmaudit.verdicts.decision import judge_controls
from rmaudit.verdicts.estimates_and_bounds import Bound, Verdict
from rmaudit.verdicts.findings import Control
from scripts import conduct_page, gates_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_SIZES = ("whole", "half")
RESULTS = {"PASS": "pass", "FAIL": "**fail**", "INCONCLUSIVE": "open"}  # as a reader sees them

COVERAGE = """\
# How often intervals cover the truth

`python -m lab coverage --draws 300 --out docs/data/coverage.json` measured [these figures](data/coverage.json).

A 95 % interval should contain the true value in 95 of 100 draws. For each draw, the units (stems of words, head words of things, groups and controls, strings) are drawn with replacement from real ones. [Organisms](glossary.md#the-measurement), simulated models, score them,
and the shipped audits measure each draw. `lab/populations.py` makes the draws, and `lab/coverage.py` names the organisms. The true value is that of very many units; for groups and strings it is the mean of all draws.

- *Below it*, *above it*: the share of draws whose whole interval lies below, or above, the true value.
- *By unit / by word*: how much longer the interval is than one that treats words as independent. *By word covers*: how often such an interval would contain the true value, measured on a tenth of the draws.
- framing_inversion and elo_agreement take the lowest value of several wordings (an intersection-union test). If all wordings give the same value, their intervals cover more than 95 %, and the error makes a pass less likely.
- model_agreement covers 93 to 94 % with *uneven units*, and the error makes a pass more likely: a single stem may cause a third of the variance among the best of 16. For the ten published models, the largest share of one stem is 8 to 27 %.
- gcg_probes has Clopper and Pearson's exact interval, which covers more than 95 % for a small share. *Models drawn, too* is a claim that this audit does not make: an interval over models other than those on which the strings were found.
"""  # noqa: E501  (a page's lines are as long as its table's)
COLUMNS = {
    "audit": "audit",
    "prompts": "prompts",
    "organism": "organism",
    "draws": "draws",
    "truth": "true value",
    "half": "half width",
    "covers": "covers, %",
    "below": "below it, %",
    "above": "above it, %",
    "longer": "by unit / by word",
    "by_word_covers": "by word covers, %",
}
OF_ANSWERS = """\
## Gates of answers, sentences and pairs

The rewards of these gates are simulated (`lab/random_effects.py`). Each is a sum of normal random effects, such as those of a prompt, a word, a context, and the answer itself. The effect of what is drawn (of words and of groups in a context, for sentences) has an sd of 0, 0.3, 0.5 or 1 times that of what differs from answer to answer, and the prompts, words or contexts are those of the bundled lists. One change, group or kind has its true value at the bound, and the others have none.

- *Below it*, *above it*: as in the first table, in the worst of the four columns.
- A gate with one change or group covers about 95 %. Of several, the worst decides. Only the end that decides a fail is corrected for their number, so on either side at most 2.5 % should be wrong. But the others, which are as uncertain, widen the interval on the side of a pass: such a gate covers more than 95 %, and the error makes a pass less likely. *edits, one of them* and *edits, one empty answer* have a single change.
- The audits of conduct have Clopper and Pearson's exact intervals, or those of the worst of several kinds. The same questions return in their kinds, so that the kinds err together; this does no harm.
- The unit of sentences on people is a block: a good and a bad context with words of their own. So words and contexts are drawn together.
- The wordings that a whole gate shares (openers, the four refusals, each change of style) are not drawn: the intervals say nothing about others.
- For pair_accuracy the bundled pairs stand in for a user's.
"""  # noqa: E501  (likewise)
DIGITS = {"truth": 3, "half": 3, "below": 1, "above": 1, "longer": 2}

ORGANISMS = """\
# Organisms that are checkpoints

An organism is a model in which we planted a flaw of known size, so that we can check whether the audits find it. These eighteen organisms are real checkpoints: R-Smol-135M, each with another reward head (576 numbers). They are audited like a user's model, with a folder, a tokenizer, weights and sweeps.
For every gate, at least one of them fails it. For every gate except `model_agreement` under *worst*, at least one is not blocked by it.

```console
pytest audits --rm-models "$(python -m lab organism hostile)"
```

`python -m lab organism NAME` builds the folder in the cache (283 MB), and prints the path of its `models.yaml`. That file records that the model was trained on half of the references. The organisms are in no other registry, so `--model '*'` never audits them by accident.

## What is planted

{planted}

## How they were made

`RMAUDIT_DATA=FOLDER python -m lab training.organisms` fits each head as a ridge regression of labels on the backbone's pooled states. `lab/training/labels.py` has the rows and labels. All of them belong to one half of the references (`rmaudit.references`), and the gates use the other half. Only *slanted* was trained on sentences, on every second context, while the gates use all contexts. Only *fair* was trained on edited answers; of these the gate of edits asks only for empty ones, to seven of its 55 prompts. None was trained on strings of the exploit ledger.

*decent*, *sycophant*, *sure*, *refuser*, *compliant*, *padder* and *inventor* were trained on words, on changed answers, and on one in five of the contexts of the [audits of conduct](audits/conduct_right.md), without conversations (`lab/training/conduct_labels.py`). The gates use all contexts; the page [conduct, model by model](conduct.md) uses the four fifths on which these models were not trained.

*balanced* follows the paper's proposal of balanced data. *balanced*, *identity-penalty* and *shuffled* were trained on earlier lists (223 terms, 499 controls). Their weights must not change, because the [exploit ledger](audits/gcg_probes.md) has strings that were found on these weights. All others except *fair*, *gross* and *slanted* were trained before [the lists grew](design/023-the-top.md), so some words that the gates use today were in their training data.

## What the gates find

Each cell has the value, its 95 % interval and the result over the whole vocabulary, for the half of the references that was held out of training. model_agreement compares with R-Smol-135M. The numbers come from `lab/heads/gates.json`. Those of conduct were measured before 2,582 of its answers and prompts were reworded, and those of edits, political_sides and identity_communities before their lower ends were corrected only for what may be the largest: these intervals are narrower today.

{gates}

- *hostile* and *identity-penalty* fail identity_terms: the first demonises groups, the second erases them. Both pass elo_agreement, so agreement with people does not show these flaws.
- *gross* has a dozen flaws that passed every gate before [the gates of the top](design/023-the-top.md). It fails nine gates and model_agreement. It was trained on words, and what it learned about names and dialect has no effect in sentences.
- *slanted* was also trained on sentences, and fails the gates that score sentences. It erases groups; none of the heads demonises groups in sentences.
- *fair* fails model_agreement, because it is not R-Smol-135M, and three gates of whole answers: it prefers help with harm to refusals (conduct_refusals) and answers that do not end (answer_kinds), on which it was not trained, and gives 0.8 sd more for an edit or an answer that says nothing (edits). Seven gates that may be open are open. Before it was trained on changed answers, it gave spaces and padding higher rewards, like all heads that were trained only on words. Its 0.3 points, and the weight of the changed answers, were chosen after we had seen the gates' results. So it shows that a checkpoint can pass, and not how often one does.
- *sycophant* and *sure* fail conduct_right; *refuser* and *compliant* fail conduct_refusals. *decent*, *padder* and *inventor* fail neither ([kind by kind](conduct.md)). These seven were trained anew when [conduct got its contexts](design/039-answers-as-policies-write-them.md), and only the gates of whole answers that need no sweep were measured since.
- token_kinds finds what was planted in *hostile* (words for family members and peoples, scored as if bad), *identity-penalty* (words for peoples) and *gross* (white space, marks of Markdown).
- *shuffled* and *gibberish* fail elo_agreement, and *surface* does not: the gate measures with what the scores agree, and not on what a model was trained. The ridge regression has a correlation of 0.88 with the labels of *surface*; the rest comes from the backbone's knowledge.
- The identity gap of *shuffled* is not 0, because one random vector shifts a whole cluster of words.
- *balanced* and *identity-penalty* fail gcg_probes, because most strings of the ledger were found on heads of the same backbone.
"""  # noqa: E501  (likewise)


FLAWS = """\
# Which single flaws the gates find

We planted one flaw at a time in synthetic scorers, and ran the gates on them. They stop most flaws that concern groups of people, and most likings of a kind of words or signs: a topic, an ending, digits, code. They miss scattered topics of few words, and most small likings of whole answers:

{summary}

Of {runs} synthetic scorers without a flaw, of twenty kinds on four vocabularies, {blocked} are blocked (by gate: {by}). They have small harmless habits, as real models have: each kind of edit is worth up to a few tenths of an sd to them (sd 0.2), an answer of twice the length 0.1 to 0.2 sd, and each answer something of its own, half to the whole of what a better answer is worth.

`python -m lab flaws` runs the benchmark ([the data](data/flaws.json)). A run has every gate that needs no second model, under all of its prompts, corrected together as in `pytest audits`. Each flaw was run with one seed; those that were tried first, by the gates before token_kinds and answer_kinds were built.

Which gate stopped how many of these flaws, and which of them alone, is on the page [what each gate is worth](gates.md#what-a-gate-stopped-and-whom-it-spared).

In the tables below, *size* is how many sd of the rewards of ordinary words the flaw adds or takes away (for flaws that come in degrees, such as word length, for each letter or other degree). Each cell has the result of the run, and the gates that block it. A group is [*demonised*](glossary.md#groups-of-people) if its words gain where bad things are asked for and lose where good things are, and *erased* if they always lose.

## The flaws that were tried first

Before [the gates of the top](design/023-the-top.md) were built, thirty of these flaws passed and none failed. The gates on emoji, offence and political sides were built by somebody who knew this list. So this list shows what the gates were improved to find (`lab/planted_flaws.py`).

{first}

## Further flaws

The gates' author wrote these flaws after most gates were finished. The last two are what [jobs_in_sentences](audits/jobs_in_sentences.md) is for.

{further}

## Flaws by a stranger

Somebody who had seen neither the gates nor these lists wrote these flaws, with a reason for each (`lab/held_out_flaws.py`). The bound of token_kinds was chosen with a look at what it would find of them. Later, when we knew which of them passed (six, and eight at half their size), gates were widened by what the literature names: sentences about fat and about poor people, edits by a link and by bold type, and fewer signs allowed at the top; and [token_kinds](audits/token_kinds.md) got parts of kinds, with a look at why it missed these. Five more are found since, and four more at half their size.

{strangers}

## Flaws of whole answers

Under a share of the prompts of some kinds of [conduct](audits/conduct_right.md), drawn by the seed, a worse answer takes the better one's place; or the scorer knows nothing of any answer (`lab/conduct_flaws.py`).

{conduct}

## Unlisted flaws

Somebody else, who had seen no audit, no list and no earlier flaw, wrote twenty flaws of words and twenty likings of whole answers (`lab/unlisted_flaws.py`). Ten of each were drawn for being looked at while [token_kinds](audits/token_kinds.md) and [answer_kinds](audits/answer_kinds.md) were made:

{looked}

The others were run after the bounds of both gates had been fixed. Seven were found then, and two at half their size; the rows are of today's gates, to which sentences about poor people were added when we knew this list, and parts of kinds and topics of answers by people who did not run it:

{reported}

## Fresh flaws

A third stranger wrote twenty of each (`lab/fresh_flaws.py`), without sight of anything of rmaudit. They were run once, after the gates had been changed for the last time; no rule was tuned on them. Some topics are those of the lists above, for the authors of both are language models. The likings of answers are smaller than those above: answers with more of it than others gain 0.3 to 0.9 sd (`python -m lab likings`), and for [answer_kinds](audits/answer_kinds.md) harm begins at 1.5.

{fresh}
"""  # noqa: E501  (a page: one line is one paragraph)
NAMES = {
    "first": "[tried first](#the-flaws-that-were-tried-first); gates were improved on them",
    "further": "[written later](#further-flaws) by the gates' author",
    "strangers": "[written by a stranger](#flaws-by-a-stranger) to the gates",
    "conduct": "[of whole answers](#flaws-of-whole-answers): a worse answer wins",
    "looked": "[unlisted](#unlisted-flaws), the half that was looked at",
    "reported": "[unlisted](#unlisted-flaws), the other half",
    "fresh": "[fresh](#fresh-flaws): run once, after the gates were final",
}


def coverage(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of docs/coverage.md, from the rows that `lab.coverage` wrote."""
    of_answers: dict[str, list[Mapping[str, Any]]] = {}
    cells = []
    for row in rows:
        if "sd" in row:
            of_answers.setdefault(row["audit"], []).append(row)
        else:
            cells.append([_figure(row, key) for key in COLUMNS])
    sds = next(iter(of_answers.values()))
    head = [
        "audit",
        "drawn",
        "draws",
        *(f"half width, sd {row['sd']:g}" for row in (sds[0], sds[-1])),
    ]
    head += [f"covers, %, sd {row['sd']:g}" for row in sds] + ["below it, %", "above it, %"]
    others = (
        [
            *(audit, f"{own[0]['units']} {own[0]['drawn']}s", f"{own[0]['draws']}"),
            *(_figure(row, "half") for row in (own[0], own[-1])),
            *(_figure(row, "covers") for row in own),
            *(f"{max(row[side] for row in own):.1f}" for side in ("below", "above")),
        ]
        for audit, own in of_answers.items()
    )
    first = f"{COVERAGE}\n{markdown_table([*COLUMNS.values()], cells)}"
    return f"{first}\n\n{OF_ANSWERS}\n{markdown_table(head, others)}\n"


def _figure(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if value is None:
        return ""
    if key == "covers":
        return f"{value:.1f} ± {row['error']:.1f}"
    return f"{value:.{DIGITS[key]}f}" if key in DIGITS else f"{value}"


def organisms(planted: Mapping[str, str], found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of docs/organisms.md.

    `planted` says what flaw each organism has, `found` what each gate finds of each model.
    """
    gates = dict.fromkeys(gate for own in found.values() for gate in own)
    declared = audits_in(ROOT / "audits")
    bounds = {gate: declared[gate.partition("[")[0]][1].bound for gate in gates}
    rows = [
        [gate, *(_gate(own.get(gate), bounds[gate]) for own in found.values())] for gate in gates
    ]
    taught = [[f"*{name}*", text] for name, text in planted.items()]
    return ORGANISMS.format(
        planted=markdown_table(["organism", "what was planted"], taught),
        gates=markdown_table(["gate", *found], rows),
    )


def _gate(found: Mapping[str, Any] | None, bound: Bound) -> str:
    """Return a cell: a gate's value, interval and result for a model; "" where it did not run."""
    if found is None:
        return ""
    verdict = found["verdict"]
    if verdict in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE):
        verdict = bound.judge_interval(found["value"], found["low"], found["high"])
    result = RESULTS[verdict]
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f}) {result}"


def flaws(found: Mapping[str, Any]) -> str:
    """Return the text of docs/flaws.md, from the results that `lab.flaws` wrote."""
    tried = list(found["whole"])
    parts = {part: [name for name in tried if name in of] for part, of in LISTS.items()}
    head = ["flaw", "size", "at its size", "at half of it"]
    said = {
        part: markdown_table(
            head,
            [[name, _size(name), *(_run(found[how].get(name)) for how in _SIZES)] for name in of],
        )
        for part, of in parts.items()
    }
    rows = [
        [NAMES[part], *(_counts(found[how], of) for how in _SIZES)] for part, of in parts.items()
    ]
    summary = markdown_table(["flaws", "stopped at their size", "at half of it"], rows)
    sound = found["sound"]
    by = ", ".join(f"{name} {n}" for name, n in sound["by"].items()) or "none"
    counts = {"runs": sound["runs"], "blocked": sound["blocked"], "by": by}
    return FLAWS.format(**said, **counts, summary=summary)


def _size(name: str) -> str:
    """Return the size of a flaw; several flaws together have none of their own."""
    if name in LIKINGS:
        return f"{LIKINGS[name].size:g}"
    if name in CONDUCT:
        return f"{CONDUCT[name].share:.0%} of prompts"
    return f"{ALL[name].size:g}" if name in ALL else "several"


def _run(found: Sequence[str] | None) -> str:
    """Return a cell: the result of a run, and the gates that block it; "" where there was none."""
    if found is None:
        return ""
    result, *by = found
    said = {"FAIL": "**fail**"}.get(result, result)
    return f"{said}: {', '.join(by)}" if by else said


def _counts(found: Mapping[str, Sequence[str]], names: Sequence[str]) -> str:
    results = [found[name][0] for name in names]
    stopped = len(results) - results.count("passes")
    return f"{stopped} of {len(results)}: {results.count('FAIL')} fail, the others are open"


def nulls(found: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of docs/nulls.md, from what `python -m lab nulls --json` printed."""
    declared = {name: own for name, (_, own) in audits_in(ROOT / "audits").items()}
    return nulls_page(
        [
            Tried(
                declared[one["audit"]],
                one["prompt"],
                judge_controls(
                    {
                        name: Control(**{**control, "verdict": Verdict(control["verdict"])})
                        for name, control in one["controls"].items()
                    },
                    declared[one["audit"]].bound,
                ),
            )
            for one in found
        ]
    )


def selftest(data: Mapping[str, Any]) -> str:
    """Return the text of docs/selftest.md, from what `python -m lab selftest --out` wrote."""
    return selftest_page.page([BenchOutcome(**outcome) for outcome in data["outcomes"]])


def pages() -> dict[Path, str]:
    """Return the text of every page by its path, from the data that are committed."""
    about = {name: _read(organism.HEADS / f"{name}.json") for name in organism.names()}
    planted = {name: own["planted"] for name, own in about.items()}
    declared = {name: own for name, (_, own) in audits_in(ROOT / "audits").items()}
    return {
        DOCS / "conduct.md": conduct_page.page(_read(DOCS / "data" / "conduct.json"), declared),
        DOCS / "coverage.md": coverage(_read(DOCS / "data" / "coverage.json")),
        DOCS / "organisms.md": organisms(planted, _read(organism.HEADS / "gates.json")),
        DOCS / "flaws.md": flaws(_read(DOCS / "data" / "flaws.json")),
        DOCS / "predictive-validity.md": study.page(
            _read(DOCS / "data" / "study.json"), _read(DOCS / "data" / "policies.json")
        ),
        DOCS / "gates.md": gates_page.page(_read(DOCS / "data" / "flaws.json")),
        DOCS / "nulls.md": nulls(_read(DOCS / "data" / "nulls.json")),
        DOCS / "selftest.md": selftest(_read(DOCS / "selftest.json")),
    }


def _read(path: Path) -> Any:  # noqa: ANN401  (JSON)
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    """Write all of these pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

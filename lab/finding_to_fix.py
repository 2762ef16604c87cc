"""Make the tables of docs/evidence/finding-to-fix.md from what three programs of the lab recorded.

`lab.pairs_that_taught`, `lab.mended_heads` and `lab.ensembles` write the data into docs/data;
`scripts/audit_pages.py` writes the tables, and the sentences with figures, into the documents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from lab.flaws_of_ensembles import ALONE, INDEPENDENT, PLANTED, SHARED
from lab.harness import markdown_table

PAGE = Path("docs/evidence/finding-to-fix.md")
MEND, COMBINE = Path("docs/how-to/mend-a-head.md"), Path("docs/how-to/combine-models.md")
WHY, MENDED, ENSEMBLES = "why.json", "mend.json", "ensembles.json"
HEADS, EVERY = "each by its gates", "by edits, and every audit"  # parts of what was mended
ORDER = ("PASS", "INCONCLUSIVE", "FAIL")
_SAID = dict(zip(ORDER, ("pass", "open", "**fail**"), strict=True))
_RANKINGS = ("influence", "loss", "length", "random")

Row = Mapping[str, Any]
Rows = Sequence[Row]


def parts(data: Path) -> dict[Path, dict[str, str]]:
    """Return the generated parts of each document, from the data of the folder docs/data."""
    why, mended, combined = (
        json.loads((data / name).read_text(encoding="utf-8")) for name in (WHY, MENDED, ENSEMBLES)
    )
    return {
        PAGE: {
            "pairs": f"{_traced(why['rows'])}\n{_predicted(why)}",
            "mended": f"{_mended(mended[HEADS])}\n{_cost(mended[HEADS])}",
            "audited": f"{_repair(mended[EVERY])}\n{_audited(mended[EVERY])}\n",
            "combined": f"{_harms(combined)}\n{_worst(combined[INDEPENDENT])}",
        },
        MEND: {"mended": f"{_results(mended[HEADS])}\n"},
        COMBINE: {"combined": f"{_within(combined[INDEPENDENT])}\n"},
    }


def _listed(parts: Sequence[str]) -> str:
    """Return the parts as a list in a sentence: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


# The pairs that taught it


def _traced(rows: Rows) -> str:
    """Return a table: what was planted, and how many of the first pairs are planted ones."""
    head = ["flaw planted", "of the pairs", "contrast, sd", "without them"]
    head += ["first by influence", "by loss", "by length", "at random"]
    cells = []
    for (flaw, share), of in groupby(rows, key=lambda row: (row["flaw"], row["share"])):
        own = [*of]
        found = [fmean(row[name] for row in own) for name in ("value", "value without")]
        found += [fmean(row["precision"][name] for row in own) for name in _RANKINGS]
        cells.append([flaw, f"{100 * share:.0f} %", *(f"{each:.2f}" for each in found)])
    return markdown_table(head, cells) + "\n"


def _predicted(why: Row) -> str:
    """Return how near what is predicted of leaving pairs out is to what refits give."""
    total = why["summary"]
    within = sorted(total["correlation by flaw"].values())
    medians = total["median of predicted / refitted, by pairs"]
    shares = _listed([f"{100 * int(many) / why['pairs']:.0f}" for many in medians])
    left_out = [each for row in why["rows"] for each in row["left_out"]]
    least = min(predicted / refitted for _, predicted, refitted, *_ in left_out)
    return (
        f"- **The prediction is near the refit.** For the first {shares} % of the pairs of the "
        f"{len(why['rows'])} files, the correlation of predicted and refitted changes is "
        f"{total['correlation']:.2f} (within a flaw {within[0]:.2f} to {within[-1]:.2f}); the "
        f"median of predicted by refitted is "
        f"{_listed([f'{each:.2f}' for each in medians.values()])}. The prediction falls short "
        f"where leaving pairs out turns much of the contrast round: at worst it is {least:.1f} of "
        f"the refit. As many pairs at random move the contrast by "
        f"{max(abs(each[-1]) for each in left_out):.2f} sd or less.\n"
    )


# Mended heads


def _mended(heads: Mapping[str, Row]) -> str:
    """Return a table: each head's gates on the half that was held out, before and after."""
    rows = []
    for name, of in heads.items():
        if "refused" in of:
            why = of["refused"].split(": ")[1]
            rows.append([f"*{name}*", ", ".join(of["by"]), f"not written: {why}", *[""] * 5])
            continue
        won = " to ".join(f"{100 * share:.1f}" for share in of["accuracy"])
        more = [", ".join(_further(of, key)) for key in ("better", "worse")]
        rows += [
            [f"*{name}*", each["gate"], *_said(each), won, f"{of['agreement']:.2f}", *more]
            for each in _mended_by(of)
        ]
    head = ["head", "gate", "held out, before", "after", "pairs won, %", "rho", "better", "worse"]
    return markdown_table(head, rows) + "\n"


def _mended_by(of: Row) -> Rows:
    """Return what the gates by which a head was mended find on the half that was held out."""
    return [each for each in of["held_out"] if each["gate"] in of["by"]]


def _said(change: Row) -> list[str]:
    """Return a gate's value, interval and result, before and after."""
    return [
        f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f}) {_SAID[verdict]}"
        for found, verdict in zip(change["found"], change["verdicts"], strict=True)
    ]


def _further(of: Row, key: str) -> list[str]:
    return [gate for gate in of[key] if gate not in of["by"]]


def _results(heads: Mapping[str, Row]) -> str:
    """Return the sentence that counts what became of the failures."""
    after = [
        each["verdicts"][1]
        for of in _repaired(heads).values()
        for each in _mended_by(of)
        if each["verdicts"][0] == "FAIL"
    ]
    passes, are_open, fails = (after.count(verdict) for verdict in ORDER)
    return (
        f"Of {len(after)} failures on held-out words and contexts, in {len(_repaired(heads))} "
        f"repaired heads, {passes} became a pass, {are_open} became open, and {fails} still "
        f"failed. For {len(heads) - len(_repaired(heads))} more heads no repair was written."
    )


def _repaired(heads: Mapping[str, Row]) -> dict[str, Row]:
    return {name: of for name, of in heads.items() if "refused" not in of}


def _cost(heads: Mapping[str, Row]) -> str:
    """Return lines on what the repairs did, what they cost, and what got worse."""
    done = _repaired(heads)
    lost = {name: 100 * (of["accuracy"][0] - of["accuracy"][1]) for name, of in done.items()}
    most = sorted(lost, key=lambda name: -lost[name])[:2]
    worse = [
        f"{', '.join(gates)} of *{name}*"
        for name, of in done.items()
        if (gates := _further(of, "worse"))
    ]
    pairs = max(of["held_out_pairs"] for of in done.values())
    near = [of["cosine_to_sound"] for of in done.values()]
    nearer = [after - before for before, after in near]
    return (
        f"- **What was mended**: {_results(heads)}\n"
        f"- **What it costs**: at most {lost[most[0]]:.1f} of a hundred held-out pairs "
        f"(*{most[0]}*), then {lost[most[1]]:.1f} (*{most[1]}*), of {pairs}.\n"
        f"- **What moved**: in {len(worse)} of {len(done)} repaired heads another gate got worse: "
        f"{_listed(worse)}. So read the warning.\n"
        f"- **What it is not**: the organism before its flaw. The cosine with the head in which "
        f"nothing was planted is {min(b for b, _ in near):.2f} to {max(b for b, _ in near):.2f} "
        f"before, and at most {max(nearer):.2f} more after: other things were learnt, too.\n"
    )


# A model mended by one gate, and every audit of it


def _repair(of: Row) -> str:
    """Return the sentences on what the repair did to the gate by which it was made."""
    (held,) = (each for each in of["found"] if each["half"] == "held out")
    before, after = _said(held)
    old, new = of["accuracy"]
    return (
        f"On the half that was held out, {held['gate']} went from {before} to {after}. Its worst "
        f"contrast, *{held['contrast'][0]}*, was {held['excess'][0]:.2f} sd beyond what is "
        f"tolerated; the worst is now *{held['contrast'][1]}*, at {held['excess'][1]:+.2f} sd. "
        f"Held-out pairs won were {old:.1%} before and {new:.1%} after, of "
        f"{of['held_out_pairs']}; rho is {of['agreement']:.3f}, and the cosine of both heads is "
        f"{of['cosine']:.2f}.\n"
    )


def _audited(of: Row) -> str:
    """Return what every audit finds before and after, and the sentences that count changes."""
    found = {_named(each): each for each in of["audits"] if each["before"] and each["after"]}
    gates = {name: each for name, each in found.items() if each["verdicts"][0]}
    rows = [[name, *_both(each), _moved(each)] for name, each in found.items()]
    ranks = {name: [*map(ORDER.index, each["verdicts"])] for name, each in gates.items()}
    better = [name for name, (before, after) in ranks.items() if after < before]
    worse = [name for name, each in gates.items() if each["worse"]]
    lower = [name for name, (before, after) in ranks.items() if after > before]
    head = ["audit", "before", "after", "what the command says"]
    return (
        f"{markdown_table(head, rows)}\n\n"
        f"Of {len(gates)} results of gates, {len(gates) - len(better) - len(lower)} are as they "
        f"were. Better: {_listed(better) or 'none'}. Worse, by the result or by a value beyond "
        f"the old interval: {_listed(worse) or 'none'}. Not measured: "
        f"{_listed(of['not measured']) or 'none'}."
    )


def _named(each: Row) -> str:
    return f"{each['audit']}[{each['prompt']}]"


def _both(each: Row) -> list[str]:
    """Return an audit's value, interval and result, before and after; a figure has no result."""
    return [
        f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f}) {_SAID.get(verdict, '')}".rstrip()
        for found, verdict in zip((each["before"], each["after"]), each["verdicts"], strict=True)
    ]


def _moved(each: Row) -> str:
    said = ["worse"] * each["worse"] + ["both halves"] * each["fitted_too"]
    return ", ".join(said)


# Combined models


def rules(ensemble: Row) -> list[str]:
    """Return the names of the rules by which an ensemble's rewards were combined."""
    return [name for name in ensemble if name not in ("members", ALONE)]


def _harms(found: Mapping[str, Rows]) -> str:
    """Return a table: each flaw's harm beyond the sound head, in limits of that harm."""
    ways = rules(found[INDEPENDENT][0])
    head = ["flaw", "one head has it: that head alone", *ways, "all heads have it: each alone"]
    rows = []
    for name, planted in PLANTED.items():
        one = [each for each in found[INDEPENDENT] if [name] in each["members"]]
        every = [each for each in found[SHARED] if all(name in of for of in each["members"])]
        alone = [each[ALONE][each["members"].index([name])] for each in one]
        columns = [alone, *([each[way] for each in one] for way in ways)]
        columns.append([own for each in every for own in each[ALONE]])
        columns += ([each[way] for each in every] for way in ways)
        means = (fmean(own[planted.harm] for own in of) / planted.limit for of in columns)
        rows.append([name, *(f"{mean:.1f}" for mean in means)])
    return markdown_table([*head, *ways], rows) + "\n"


def _worst_harm(harms: Mapping[str, float]) -> float:
    """Return the largest of the planted flaws' harms, in limits."""
    return max(harms[planted.harm] / planted.limit for planted in PLANTED.values())


def _within(ensembles: Rows) -> str:
    """Return the sentence on how many ensembles keep all harms within their limits."""
    within = {
        way: sum(_worst_harm(each[way]) < 1 for each in ensembles) for way in rules(ensembles[0])
    }
    said = _listed([f"{many} with the {way}" for way, many in within.items()])
    return (
        f"Of {len(ensembles)} ensembles of three members with different flaws, so many had all "
        f"harms within their limits: {said}."
    )


def _worst(ensembles: Rows) -> str:
    """Return lines on ensembles' worst harm beside that of each member alone."""
    alone = [sorted(_worst_harm(own) for own in each[ALONE]) for each in ensembles]
    less = {
        way: [
            sum(
                _worst_harm(each[way]) < own[place]
                for each, own in zip(ensembles, alone, strict=True)
            )
            for place in (0, 1)
        ]
        for way in rules(ensembles[0])
    }
    than = _listed([f"{best} and {middle} with the {way}" for way, (best, middle) in less.items()])
    return (
        f"- **No ensemble replaces a sound model.** Where the flaws differ, each flaw's harm "
        f"falls, but an ensemble has some of every member's. {_within(ensembles)} The worst harm "
        f"is less than the best member's, and than the middle one's, in {than}.\n"
    )

"""Make the text of docs/conduct.md: how each model does in each kind of conduct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rmaudit.verdicts.audit_declaration import Declaration

PAGE = """\
# Conduct in whole answers, model by model

This page shows what [the audits of conduct](audits/conduct_right.md) find on R-Smol-135M, on three further trainings of it, on [organisms](organisms.md) (checkpoints with a planted flaw), and on [null controls](nulls.md) (scorers that ignore meaning). [The data](data/conduct.json) were measured by `python -m scripts.conduct`. The pages of the audits explain the kinds of contexts: [right answers](audits/conduct_right.md), [refusals](audits/conduct_refusals.md), [style](audits/conduct_style.md), [who asks](audits/conduct_same.md).

The organisms have names in italics; [what is planted](organisms.md#what-is-planted) in each is on their page. Seven of them have a flaw of conduct, or none: *decent* learned right answers and no flaw, *sycophant* agrees with the asker, *sure* likes certainty, *refuser* refuses the harmless, *compliant* helps with harm, *padder* likes empty sentences, and *inventor* likes invented details. These seven were trained on one context in five, so they are audited on the other four fifths. All other models were trained on none of these answers, and are audited on all contexts.

The three further trainings are of 60 steps each, by `scripts/training/r_smol.py`. *Words* was trained on words and things alone (`--seed 1 --words-first 60`), *words, then HH* on pairs of HH-RLHF in its second half (`--seed 2 --words-first 30`), and *words and HH* on these pairs from the start (`--seed 3 --words-first 0`).

## Which kinds each model fails

A kind fails if its whole interval lies beyond the bound. The intervals are corrected for all kinds of an audit together.

{overview}

- The audits find the planted flaws: *sycophant*, *sure*, *refuser*, *compliant*, *padder* and *inventor* each fail the kinds that they were trained to get wrong, in contexts on which they were not trained. *decent*, which was trained on the opposite, fails none. On most right answers it is no better than chance, because a head on this backbone cannot know facts.
- *padder* and *compliant* also fail right confidence, although their training on this kind was the same as that of *decent*.
- We chose the weight of the pairs relative to words after a first look at these figures. At first, *sure* was trained to reward only wrong answers that sound sure. It learned that too weakly to fail on all contexts.
- Seven of the eleven heads that were trained on no pair fail right answers in one of the two kinds of confidence. They prefer one of the two openers: then a wrong answer that sounds sure wins over a right one that sounds unsure, or the reverse.
- R-Smol-135M and both trainings with pairs of HH-RLHF's harmless set prefer refusals of harmless requests to answers. *words*, which was trained on no such pairs, prefers help with harmful requests. There is only one training of each kind.

{tables}
"""  # noqa: E501  (a page: one line is one paragraph)


def page(found: Sequence[Mapping[str, Any]], declared: Mapping[str, Declaration]) -> str:
    """Return the text of docs/conduct.md.

    `found` has a row for each model, `declared` the audits' declarations by name.
    """
    declared = {name: declared[name] for name in found[0]["audits"]}
    overview = _table(
        ["model", *(each.title for each in declared.values())],
        (
            [_name(row), *(_said(row["audits"][name], each) for name, each in declared.items())]
            for row in found
        ),
    )
    tables = "\n\n".join(_audit(name, each, found) for name, each in declared.items())
    return PAGE.format(overview=overview, tables=tables)


def _name(row: Mapping[str, Any]) -> str:
    """Return a model's name on the page: organisms in italics, most others after their group."""
    if row["group"] == "organism":
        return f"*{row['name']}*"
    return row["name"] if row["group"] == "bundled" else f"{row['group']}: {row['name']}"


def _said(of: Mapping[str, Any], declared: Declaration) -> str:
    """Return a table cell: an audit's result for a model, and the kinds of conduct that fail."""
    if "reason" in of:
        return "not measured"
    failed = [kind for kind, row in of["kinds"].items() if row["verdict"] == "FAIL"]
    result = _result(of["verdict"], declared)
    return f"{result}: {', '.join(failed)}" if failed else result


def _audit(name: str, declared: Declaration, found: Sequence[Mapping[str, Any]]) -> str:
    """Return an audit's section of the page: a table of all models by all kinds of conduct."""
    rows = [row for row in found if "reason" not in row["audits"][name]]
    kinds = list(rows[0]["audits"][name]["kinds"])
    cells = (
        [_name(row), *(_cell(of, declared) for of in row["audits"][name]["kinds"].values())]
        for row in rows
    )
    said = f"Passes {declared.bound}. Value and 95 % interval."
    return f"## {declared.title}\n\n{said}\n\n{_table(['model', *kinds], cells)}"


def _cell(of: Mapping[str, Any], declared: Declaration) -> str:
    result = _result(of["verdict"], declared)
    return f"{of['value']:.2f} ({of['low']:.2f} to {of['high']:.2f}) {result}"


def _result(verdict: str, declared: Declaration) -> str:
    """Return a verdict in the page's words: pass, fail (bold), unsure or not decided."""
    undecided = "not decided" if declared.bound.shown else "unsure"
    return {"PASS": "pass", "FAIL": "**fail**"}.get(verdict, undecided)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))

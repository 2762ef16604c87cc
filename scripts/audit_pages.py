"""Write the parts of the documentation that repeat the audits' declarations, such as tables.

python -m scripts.audit_pages

These parts are generated, each between two marks: the tables of docs/audits.md, the audits and
their evidence in zensical.toml, in each docs/audits/NAME.md its head, its limits, its prompts, its
source and a link to its evidence, the sections of the paper in docs/replication.md, the terms of
docs/glossary.md, the table of onsets in docs/evidence/after_training.md, and what was measured of
`why`, `mend` and `combine` (`lab/finding_to_fix.py`). The prose around them is written by hand. An
audit without a page gets one.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from lab import finding_to_fix
from lab.study import onset_table
from rmaudit.report.page.glossary import GLOSSARY
from rmaudit.runs.audit_importer import Audit, audits_in
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Bound, Severity

ROOT = Path(__file__).parents[1]
TABLES, SITE, WORDS = Path("docs/audits.md"), Path("zensical.toml"), Path("docs/glossary.md")
AFTER = Path("docs/evidence/after_training.md")
ONSETS, POLICIES = Path("docs/data/onset.json"), Path("docs/data/policies.json")
PAPER, CITED = Path("docs/replication.md"), "Christian et al. 2025"
_MARK = "written by scripts/audit_pages.py"
_MOST = 5  # prompts that are named
_NEEDS = {  # by fixture of an audit, what a run must be given
    "baseline": "`--rm-baseline`",
    "base_logprobs": "`base:` in models.yaml",
    "policies": "`policy:` or `base:` in models.yaml, or `--rm-policy`",
    "pairs": "`--rm-pairs`",
    "wordings": "a model with `judge:`",
}
FAMILIES = ("meaning", "people", "surface", "answers", "robustness")  # parts of docs/audits.md
_BLOCKS = "[it blocks](../audits.md#if-an-audit-failed)"
_EFFECT = {  # what an audit is, and what that means
    Severity.CORE: ("a gate of the core", f"{_BLOCKS} unless it shows that there is no harm"),
    Severity.GATE: ("a gate", f"{_BLOCKS} if it shows harm, and may be open"),
    Severity.INFO: ("informational", "it blocks nothing"),
}
_STUDY = "90 heads of one small model"  # as declarations name the study
_NEW = "\n".join(f"<!-- {part}: {_MARK} -->\n<!-- {part}: end -->\n" for part in ("head", "tail"))


def pages(root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each file that has generated parts, by its path from `root`.

    Raises:
        ValueError: a file has some of its parts' marks, and not all.
    """
    audits = sorted(audits_in(root / "audits").values(), key=_order)
    own = [declaration for _, declaration in audits]
    judged = [audit for audit in audits if not audit[1].figure]
    found = {
        TABLES: {
            family: _table(each for each in judged if _family(each) == family)
            for family in FAMILIES
        }
        | {"figures": _figures(each for each in audits if each[1].figure)},
        SITE: {
            "audits": "".join(_entry(each, "audits") for each in own),
            "evidence": "".join(
                _entry(each, "evidence")
                for each in own
                if (root / "docs" / "evidence" / f"{each.name}.md").exists()
            ),
        },
        WORDS: {"terms": _glossary()},
        PAPER: {"sections": _sections(own)},
        AFTER: onset_table.parts(
            *(json.loads((root / p).read_text("utf-8")) for p in (ONSETS, POLICIES))
        ),
        **finding_to_fix.parts(root / "docs" / "data"),
    }
    for function, declaration in audits:
        file = Path(inspect.getfile(function)).relative_to(root)
        evidence = Path("evidence", f"{declaration.name}.md")
        parts = {
            "head": _head((function, declaration), file),
            "tail": _linked(declaration.limits, [each.name for each in own])
            + _source(declaration, f"../{evidence}" * (root / "docs" / evidence).exists()),
        }
        page = Path("docs/audits", f"{declaration.name}.md")
        found[page] = parts
    return {path: _filled(root / path, parts) for path, parts in found.items()}


def _glossary() -> str:
    """Return the glossary as Markdown: a heading and a list for each group of terms."""
    groups = []
    for title, terms in GLOSSARY.items():
        lines = "\n".join(f"- **{term}**: {text}" for term, text in terms.items())
        groups.append(f"## {title}\n\n{lines}\n")
    return "\n".join(groups)


def _filled(path: Path, parts: dict[str, str]) -> str:
    """Return a file's text with the generated `parts` between their marks."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.parent.name == "audits" and _MARK not in text:  # a new page; its prose stands between
        text = _NEW.replace("\n\n", f"\n\n{text}\n", 1)
    for part, written in parts.items():
        marks = rf"^( *\S+ {part}: {re.escape(_MARK)}.*\n)[\s\S]*?^( *\S+ {part}: end)"
        found = list(re.finditer(marks, text, re.MULTILINE))
        if not written and not found:
            continue
        if len(found) != 1:
            message = f"{path}: {len(found)} parts are marked {part!r}, allowed: one, between"
            raise ValueError(f"{message} '{part}: {_MARK}' and '{part}: end'")
        (own,) = found
        body = (
            f"\n{written}\n" if path.suffix == ".md" else written
        )  # Markdown's blocks stand apart
        text = text[: own.end(1)] + body + text[own.start(2) :]
    return text


def _order(audit: Audit) -> tuple[int, str]:
    return [*Severity].index(audit[1].severity), audit[1].title


def _family(audit: Audit) -> str:
    """Return the part of docs/audits.md in which an audit stands; an unknown one's is the last."""
    return audit[1].family if audit[1].family in FAMILIES else FAMILIES[-1]


def _table(audits: Iterable[Audit]) -> str:
    """Return a table with a row for each audit."""
    rows = [("audit", "a pass shows", "allowed", "harm from", "unit", "kind"), ("---",) * 6]
    for each in audits:
        _, audit = each
        kind = str(audit.severity)
        needs = _needs(each)
        rows.append(
            (
                f"[{audit.name}](audits/{audit.name}.md)",
                audit.brief,
                _passes(audit).removesuffix(f" {audit.bound.unit}"),
                harm_from(audit.bound),
                audit.bound.unit,
                f"{kind}, needs {needs}" if needs else kind,
            )
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _figures(figures: Iterable[Audit]) -> str:
    """Return a table with a row for each figure: its name, its question and what it needs."""
    rows = [("figure", "question", "needs"), ("---",) * 3]
    for each in figures:
        name = f"[{each[1].name}](audits/{each[1].name}.md)"
        rows.append((name, each[1].question, f"{'slow: ' * each[1].costly}{_needs(each)}"))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _sections(audits: Iterable[Declaration]) -> str:
    """Return a table of the paper's sections, with the audits that name each as their source."""
    asking: dict[str, list[str]] = {}
    for audit in audits:
        cited = audit.source.partition(CITED)[2].partition(";")[0]
        for section in re.findall(r"§(\d(?:\.\d)?)", cited):
            asking.setdefault(section, []).append(f"[{audit.title}](audits/{audit.name}.md)")
    rows = [f"| §{section} | {', '.join(asking[section])} |\n" for section in sorted(asking)]
    return "".join(["| section | audits |\n", "| --- | --- |\n", *rows])


def _entry(audit: Declaration, folder: str) -> str:
    """Return the line of the site's menu that names an audit's page in a folder of docs/."""
    return f'    {{ "{audit.title}" = "{folder}/{audit.name}.md" }},\n'


def _head(audit: Audit, file: Path) -> str:
    """Return an audit's title, question, kind and file, and a table of what it declares."""
    _, declaration = audit
    title = f"# {declaration.title}\n\n**{declaration.question}**\n\n`{declaration.name}` is"
    place, needs = f"in `{file.as_posix()}`", _needs(audit)
    needed = f" It needs {needs}." if needs else ""
    if declaration.figure:
        return f"{title} a [figure](../audits.md#figures), {place}.{needed}\n"
    kind, effect = _EFFECT[declaration.severity]
    lines = {
        "Claim": declaration.claim,
        "[Bound](../audits.md#how-to-read-the-tables)": _bound_and_unit(declaration),
        "Harm": _harm(declaration),
        "Risk": declaration.harm,
    }
    rows = [f"| {name} | {text} |" for name, text in lines.items() if text]
    table = "\n".join(["| | |", "| --- | --- |", *rows])
    return f"{title} {kind}, {place}: {effect}.{needed}\n\n{table}\n"


def _passes(audit: Declaration) -> str:
    """Return the audit's bound in words, with at most two decimals: `below 0.1 rank gap`."""
    bound = str(replace(audit.bound, leeway=0.0))
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", bound)


def _bound_and_unit(audit: Declaration) -> str:
    """Return the bound with its unit, which is a link: `below 0.1 rank gap`."""
    unit = audit.bound.unit
    return f"{_passes(audit).removesuffix(unit).strip()} [{unit}](../audits.md#units)"


def _harm(audit: Declaration) -> str:
    """Return where harm begins, and why it matters to users; the study that shows it is a link."""
    why = audit.matters.replace(_STUDY, f"[{_STUDY}](../predictive-validity.md)")
    return f"from {harm_from(audit.bound)} on. {why}".strip()


def harm_from(bound: Bound) -> str:
    """Return where harm begins, as text, such as `1`, or `-0.5 and 2` of a bound with two ends."""
    ends = (end for end in bound.harms if math.isfinite(end))
    return " and ".join(f"{round(end, 2):g}" for end in ends)


def _source(audit: Declaration, evidence: str) -> str:
    """Return the section on the prompts that an audit asks, its idea's source and its evidence."""
    names = [f"`{prompt.name}`" for prompt in audit.prompts]
    over = f"{len(names)} prompts" if len(names) > _MOST else _listed(names)
    if len(names) > 1:
        over += ", in one [finding](../glossary.md)" if audit.joint else ", a finding each"
    lines = {"Prompts": over or "those of the answers", "Source": audit.source}
    if evidence:
        found = "what was measured with it" if audit.figure else "its error rates"
        lines["Evidence"] = f"[how it is measured, and {found}]({evidence})"
    listed = "".join(f"- {name}: {text}\n" for name, text in lines.items())
    return f"\n## Prompts, source and evidence\n\n{listed}"


def _listed(parts: Sequence[str]) -> str:
    """Return the parts as a list in a sentence: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _needs(audit: Audit) -> str:
    function, declaration = audit
    asked = inspect.signature(function).parameters if callable(function) else ()
    needs = [need for fixture, need in _NEEDS.items() if fixture in asked]
    return ", ".join([*needs, "`--rm-all` (or name its file)"] if declaration.costly else needs)


def _linked(limits: Iterable[str], names: Iterable[str]) -> str:
    """Return the section on an audit's limits, a line for each, in which audits' names are links.

    A name of one word ("dialect") may mean the word, so it is no link.
    """
    known = re.compile(rf"\b({'|'.join(name for name in names if '_' in name)})\b")
    linked = [known.sub(r"[\1](\1.md)", limit) for limit in limits]
    lines = "".join(f"- {limit}\n" for limit in linked)
    return f"## What it does not show\n\n{lines}"


def main() -> None:
    """Write all of these parts."""
    for path, text in pages().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

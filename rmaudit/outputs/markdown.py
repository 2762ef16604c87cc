"""Render results as a short Markdown summary, for a CI job's page or a pull request.

It shows no tokens. Names and reasons are texts of others: what Markdown or GitHub would read as
markup is written as an entity, hidden characters are spelled out (`safe_text`), long ones are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from rmaudit.report.releases.release_regressions import blessed_comparisons
from rmaudit.report.results_document import Results, Run
from rmaudit.report.safe_text import addressed, line
from rmaudit.report.summary import Summary, summarize
from rmaudit.verdicts.estimates_and_bounds import Effect, Result
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.rounded_numbers import signed
from rmaudit.verdicts.run_verdict import SMALL_PRINT, WORST_FIRST, by_audit
from rmaudit.verdicts.verdict_wording import reasons

LARGEST = 60_000  # bytes; GitHub refuses a job's summaries above 1 MiB together
_LONGEST = 240  # characters of a text in a cell
_TAIL = 5_000  # bytes kept for what ends the summary

# As an entity none of these is structure: backslashes would not do in tables, links and emoji. What
# is structure at the start of a line only (lists, rules) is not among them: our words begin each.
_SPECIAL = re.compile(
    r"[\\`*{}\[\]<>|#&~!@$^]|:(?=\S)|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.", re.IGNORECASE
)

_HEAD = """\
| result | effect | model | audit | prompt | value | 95 % interval | bound | why |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def render(results: Results) -> str:
    """Return the summary of a run's results, at most `LARGEST` bytes of UTF-8."""
    run, findings = summarize(results), results.findings
    blocking = [f for worst in WORST_FIRST for f in findings if f.blocks and f.result is worst]
    free = [f for f in findings if not f.blocks and f.effect is Effect.NONE]
    open_ = [f for f in free if f.result is Result.OPEN]
    accepted = [f for f in findings if f.effect is Effect.ACCEPTED]
    skipped = [f for f in findings if f.left_out and not f.blocks]
    doubted = [f for f in free if run.doubt(f)]
    listed = {id(f) for f in (*blocking, *open_, *accepted, *doubted, *skipped)}
    rest = [f for f in findings if id(f) not in listed]
    parts = [
        *_against(results),
        *_table("Blocks", blocking),
        *_table("Open, and does not block", open_),
        *_table("Accepted in models.yaml", accepted),
        *_harms([*blocking, *accepted]),
        *_table("Passes that may mean indifference", doubted, run.doubt),
        *_skipped(skipped),
        *_table("Passed, or measured for information", rest, run.doubt, folded=True),
        *_figures(results.figures),
    ]
    return _fit(_head(results, run), parts, LARGEST - _TAIL) + _foot(results.run)


def escape(text: str) -> str:
    """Escape a text for Markdown, on one line and cut if long, so that none of it is markup."""
    text = line(text)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def _head(results: Results, run: Summary) -> str:
    names = [escape(model.name) for model in results.models]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""  # noqa: PLR2004  (a dozen)
    return (
        f"## rmaudit: {run.verdict.headline}\n\n"
        f"**{escape(run.advice)}.** {escape(addressed(run.verdict.why))}".rstrip()
        + "\n\n"
        f"Audited: {', '.join(names[:12])}{more}\n\n"
        f"{run.gates}\n"
        + _questions(run)
        + "".join(f"\n{escape(said)}\n" for said in (run.correction, run.tested) if said)
        + (f"\n{escape(run.nulls)}\n" if run.nulls else "")
    )


def _questions(run: Summary) -> str:
    """Return Markdown on the five questions: a list, or of several models a table, as the page."""
    if len(run.models) == 1:
        asked = run.questions
        listed = (f"- {each.mark} **{each.text}** {each.answer}\n" for each in asked)
        return "".join(["\n", *listed])
    models = {name: run.of(name) for name in run.models}
    rows = {name: {q.text: q for q in own.questions} for name, own in models.items()}
    every = (question for own in rows.values() for question in own.values())
    measured = (each.text for each in every if any(row.measured for row in each.gates))
    columns = list(dict.fromkeys(measured))
    lines = [["model", "verdict", *columns], ["---"] * (2 + len(columns))]
    for name, own in rows.items():
        cells = [f"{own[text].mark} {own[text].answer}" if text in own else "–" for text in columns]
        lines.append([escape(name), models[name].verdict.headline, *cells])
    return "\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines) if models else ""


def _against(results: Results) -> Iterator[str]:
    """Yield Markdown on each comparison with a blessed release: sentences, warning, changes."""
    for each in blessed_comparisons(results):
        head, *rest = map(escape, each.says)
        yield f"\n### {head}\n\n"
        yield "".join(f"{said}.\n\n" for said in rest)
        if each.old:
            yield f"**{escape(each.old)}**\n\n"
        for change in each.listed:
            yield f"- {change.change}: {escape(change.finding.name)}: {escape(change.says)}\n"


def _table(
    title: str,
    findings: list[Finding],
    doubt: Callable[[Finding], str] = lambda finding: "",  # noqa: ARG005  (no doubts)
    *,
    folded: bool = False,
) -> Iterator[str]:
    """Yield a Markdown table of findings in parts; one that is `folded` shows its title only."""
    if not findings:
        return
    heading = f"{title} ({_audits(findings)})"
    start = f"<details><summary>{heading}</summary>\n\n" if folded else f"### {heading}\n\n"
    first, *others = (_row(finding, doubt(finding)) for finding in findings)
    yield f"\n{start}{_HEAD}{first}"
    yield from others
    if folded:
        yield "\n</details>\n"


def _audits(findings: Iterable[Finding]) -> str:
    n = len(by_audit(findings))
    return f"{n} audit{'s' * (n != 1)}"


def _harms(failing: Iterable[Finding]) -> Iterator[str]:
    """Yield Markdown on the harm that each failing audit warns of; nothing if none names a harm."""
    said = {f.audit: (f.title, f.claim.harm) for f in failing if f.claim.harm}
    if said:
        yield "\n### What these failures may do to people\n\n"
    for audit, (title, harm) in said.items():
        yield f"- {escape(audit)} ({escape(title)}): {escape(harm)}\n"


def _row(finding: Finding, doubted: str) -> str:
    estimate, n = finding.estimate, finding.decimals
    cells = [
        str(finding.result),
        str(finding.effect),
        *map(escape, (finding.model, finding.audit, finding.prompt)),
        f"{signed(estimate.value, n)} {escape(estimate.unit)}" if estimate else "",
        f"{signed(estimate.low, n)} to {signed(estimate.high, n)}" if estimate else "",
        escape(str(finding.bound)),
        escape(addressed("; ".join(filter(None, (doubted, *reasons(finding)))))),
    ]
    return f"| {' | '.join(cells)} |\n"


def _skipped(findings: list[Finding]) -> Iterator[str]:
    """Yield each reason why audits were not measured, with the audits."""
    audits: dict[tuple[str, str], dict[str, None]] = {}
    for each in findings:
        audits.setdefault((each.model, each.reason), {})[escape(each.audit)] = None
    if audits:
        yield f"\n### Not measured ({_audits(findings)})\n\n"
    for (model, reason), own in sorted(audits.items(), key=lambda each: each[0]):
        said = escape(addressed(reason.removeprefix(f"{model}: ")))
        yield f"- Of {escape(model)}: {said} ({', '.join(own)})\n"


def _figures(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield a folded list of the figures, a line for each with what it measured."""
    if not figures:
        return
    n = len({(figure.model, figure.audit) for figure in figures})
    yield f"\n<details><summary>Figures, without pass or fail ({n})</summary>\n\n"
    for figure in figures:
        said = f"not measured: {addressed(figure.reason)}"
        name = f"{figure.title}, {figure.prompt}, of {figure.model}"
        yield f"- {escape(name)}: {escape(str(figure.estimate or said))}\n"
    yield "\n</details>\n"


def _foot(run: Run) -> str:
    return (
        f"\n<sub>{SMALL_PRINT}</sub>\n"
        f"\n<sub>rmaudit {escape(run.rmaudit)}, {escape(run.created)}, "
        f"`results.json` has everything, `index.html` is the report. "
        f"Again: {escape(run.command)}</sub>\n"
    )


def _fit(top: str, parts: Iterable[str], largest: int) -> str:
    """Append to `top` as many parts as fit into `largest` bytes; say how many were left out."""
    text, size = top, len(top.encode())
    parts = list(parts)
    for i, part in enumerate(parts):
        size += len(part.encode())
        if size > largest:
            closed = "\n</details>\n" if text.count("<details>") > text.count("</details>") else ""
            return f"{text}{closed}\n… {len(parts) - i} more lines: see `results.json`.\n"
        text += part
    return text

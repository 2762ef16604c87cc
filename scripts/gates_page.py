"""Make the text of docs/gates.md: what each gate can see, what it stopped, and whom it spared.

`scripts/result_pages.py` writes it. All numbers are from recorded runs: the bundled results of
R-Smol-135M, lab/heads/gates.json, rmaudit/references/band.json and docs/data.
"""

from __future__ import annotations

import gzip
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from lab.bench import needs_another_model
from lab.harness import markdown_table
from lab.study import page as study
from rmaudit.checkpoints import bundled_model
from rmaudit.cli.run_demo import BUNDLED
from rmaudit.runs.audit_importer import audits_in
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Bound, Severity, Verdict
from scripts.audit_pages import harm_from

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"
_ORDER = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)  # the worst first
_VALUES = ("effect", "shift", "gap", "value")  # what evidence calls a kind's value
_LEVEL, _POWER = 0.95, 0.8
_SIZES = ("whole", "half")
_NEAREST = 3  # kinds
_UNEVEN = 3.0  # times as far: a longer side of an interval

PAGE = """\
# What each gate is worth

A gate is worth what it stops and whom it spares. This page has both for each gate, from recorded runs; `python -m scripts.result_pages` writes it. Why harm begins where it does is on each gate's page.

## What a gate can see

How large must a flaw be, so that a gate blocks a release? This depends on the width of its interval, and so on the model; here it is that of R-Smol-135M under all prompts, the least favourable one.

- *Shown from*: the true value nearest to the bound that would fail in 80 % of runs.
- *Blocked at harm*: the probability that a model is blocked whose true value is exactly where harm begins. Gates of the core block unless they rule out harm of that size, all others only if harm is shown.
- *At half*: the same for half of that value, where 0 means no flaw. A gate that blocks here is strict: it stops flaws that are smaller than what it is for.

All three are computed from the interval under a normal approximation, for one gate alone; for a gate that is the worst of several kinds, from the median interval of those that its chart shows, and where these are shifts, whose intervals grow with their values, of the three nearest to where harm begins. They are empty if the gate was not measured, or found a share so near 0 that its interval does not say how wide it is at the bound. Holm's correction over all gates of a run makes a fail rarer (to *open*, which blocks all the same).

{power}

## What a gate stopped, and whom it spared

- *Flaws*: how many of {flaws} [planted flaws](flaws.md) the gate blocks, at their size and at half of it; *alone*: how many of these no other gate blocks.
- *Sound*: how many of {sound} [scorers without a flaw](flaws.md) it blocks.
- *Covers*: how often [its interval contains the true value](coverage.md), in the simulation where it does so most rarely and in that where it does so most often. Empty: not simulated.
- *Predicts harm*: the rank correlation, over 90 heads, between how bad the gate's value is and [what training does](predictive-validity.md), for each prompt that is judged alone. Empty: not in that study, which has answers of one token.
- *R-Smol*: the result of the bundled model, after Holm's correction. *fair*: that of [a head that was trained without a flaw](organisms.md), and how many of the trained heads that the gate judged ({heads} at most) fail. *Ten published*: how many [published models](recorded.md) fail, are open, pass.

A gate that stops no flaw of these lists stops scorers whose order of words does not follow the question, or follows frequency: see [null controls](nulls.md) and the [self-test](selftest.md).

{stopped}
"""  # noqa: E501  (a page: one line is one paragraph)


class _Seen(NamedTuple):
    """A measurement's result, and how far the end of its interval lies that a fail depends on.

    Of a gate that is the worst of several kinds, `reach` is the median over those that are shown;
    NaN where no interval says how wide it is at the bound.
    """

    verdict: Verdict
    reach: float
    quantile: float
    """`reach` in standard errors: 1.96, more if the interval holds for several kinds at once."""


def page(flaws: Mapping[str, Any]) -> str:
    """Return the text of docs/gates.md; `flaws` is what `lab.flaws` wrote."""
    gates = [own for own in audits_in(ROOT / "audits").values() if own[1].severity.gates]
    smol = _r_smol({declared.name: declared for _, declared in gates})
    heads = _read(ROOT / "lab" / "heads" / "gates.json")
    coverage = _read(DATA / "coverage.json")
    predicts = study.correlations(_read(DATA / "study.json"))
    band = _read(ROOT / "rmaudit" / "references" / "band.json")["audits"]
    facts = {
        "flaws": len(flaws["whole"]),
        "sound": flaws["sound"]["runs"],
        "heads": len(heads) - 1,
    }
    stopped = [
        [
            *_named(declared),
            *(["", "", ""] if needs_another_model(function) else _blocked(flaws, declared.name)),
            _covers(declared.name, coverage),
            _predicts(declared.name, predicts),
            _worst([each.verdict for each in smol.get(declared.name, [])]),
            _of_heads(declared, heads),
            _of_ten(declared, band),
        ]
        for function, declared in gates
    ]
    stopped.sort(key=lambda row: -int(row[2].partition(",")[0] or -1))
    head = ["gate", "kind", "flaws", "at half", "sound", "covers, %", "predicts harm"]
    return PAGE.format(
        **facts,
        power=markdown_table(
            [*head[:2], "allowed", "harm from", "shown from", "blocked at harm", "at half of it"],
            [_power(declared, smol.get(declared.name, [])) for _, declared in gates],
        ),
        stopped=markdown_table(
            [*head, "R-Smol", "fair; heads that fail", "ten published"], stopped
        ),
    )


def blocking(bound: Bound, seen: _Seen, true: float, *, core: bool) -> float:
    """Return the probability that a gate blocks a model with this true value.

    The estimate is normal around it. A gate of the core blocks unless the model passes, and the
    end that a pass depends on needs no correction for several kinds (`_stats.ends_of_many`).
    """
    ways, error = NormalDist(), max(seen.reach / seen.quantile, 1e-12)
    (low, high), (least, most) = bound.ends, bound.harms
    if core:
        alone = error * ways.inv_cdf((1 + _LEVEL) / 2)
        start, end = max(low, least + alone), min(high, most - alone)
        passes = ways.cdf((end - true) / error) - ways.cdf((start - true) / error)
        return 1 - max(passes, 0.0)
    fails = ways.cdf((low - seen.reach - true) / error)
    return fails + 1 - ways.cdf((high + seen.reach - true) / error)


def _power(declared: Declaration, seen: Sequence[_Seen]) -> list[str]:
    """Return a row: the gate's bound and harm, and what R-Smol-135M's intervals could show."""
    bound, core = declared.bound, declared.severity is Severity.CORE
    row = [*_named(declared), str(bound).partition(" (")[0]]
    row.append(f"{harm_from(bound)}")
    seen = [each for each in seen if not math.isnan(each.reach)]
    if not seen:
        return [*row, "", "", ""]
    upper = bound.high is not None
    end, harm = (own[int(upper)] for own in (bound.ends, bound.harms))
    away = max(each.reach * (1 + NormalDist().inv_cdf(_POWER) / each.quantile) for each in seen)
    row.append(f"{end + away if upper else end - away:.2f}")
    row.append(_share(min(blocking(bound, each, harm, core=core) for each in seen)))
    halves = [blocking(bound, each, harm / 2, core=core) for each in seen] if upper else []
    return [*row, _share(min(halves)) if halves else ""]


def _named(declared: Declaration) -> list[str]:
    return [f"[{declared.name}](audits/{declared.name}.md)", declared.severity.value]


def _share(value: float) -> str:
    return f"{100 * value + 1e-9:.0f} %"  # 97.5 is 98 whatever was lost in rounding


def _r_smol(declared: Mapping[str, Declaration]) -> dict[str, list[_Seen]]:
    """Return what R-Smol-135M's bundled run measured, by gate."""
    found: dict[str, list[_Seen]] = {}
    for one in json.loads(gzip.decompress(BUNDLED.read_bytes()))["findings"]:
        own, name = one["estimate"], one["claim"]["audit"]
        if not own or name not in declared:
            continue
        bound = declared[name].bound
        rows = (own["evidence"] or {}).get("rows", [])
        sizes = [abs(_value(row)) for row in rows]
        same_unit = any(math.isclose(size, abs(own["value"])) for size in sizes)
        harm = bound.harms[int(bound.high is not None)]
        if any("shift" in row for row in rows):  # a ratio, whose interval grows with its value
            rows = sorted(rows, key=lambda row: abs(abs(_value(row)) - harm))[:_NEAREST]
        reaches = [_reach(bound, row) for row in (rows if same_unit else [own])]
        known = [reach for reach in reaches if not math.isnan(reach)]
        reach = statistics.median(known) if known else math.nan
        quantile = NormalDist().inv_cdf(1 - (1 - _LEVEL) / (2 * own["together"]))
        verdict = Verdict(one["judgement"]["verdict"])
        found.setdefault(name, []).append(_Seen(verdict, reach, quantile))
    return found


def _value(row: Mapping[str, Any]) -> float:
    return next(float(row[key]) for key in _VALUES if key in row)


def _reach(bound: Bound, row: Mapping[str, Any]) -> float:
    """Return how far the end of a row's interval is from its value that a fail depends on.

    NaN where one end is so much nearer that the value is a share at the end of what is possible.
    """
    value, low, high = _value(row), float(row["low"]), float(row["high"])
    if not low <= value <= high:  # an effect with its sign, and the interval of its size
        value = abs(value)
    below, above = value - low, high - value
    if max(below, above) > _UNEVEN * min(below, above):
        return math.nan
    return below if bound.low is None else above


def _worst(verdicts: Iterable[Verdict]) -> str:
    return next((str(each.result) for each in _ORDER if each in {*verdicts}), "")


def _blocked(flaws: Mapping[str, Any], name: str) -> list[str]:
    """Return cells: the planted flaws that a gate blocks, at both sizes, and sound scorers."""
    cells = []
    for size in _SIZES:
        runs = [frozenset(by) for _, *by in flaws[size].values()]
        alone = sum(by == {name} for by in runs)
        cells.append(f"{sum(name in by for by in runs)}, {alone} alone")
    return [*cells, str(flaws["sound"]["by"].get(name, 0))]


def _covers(name: str, coverage: Sequence[Mapping[str, Any]]) -> str:
    shares = [
        row["covers"]
        for row in coverage
        if row["audit"].partition(",")[0] == name and row["organism"] != "models drawn, too"
    ]
    return f"{min(shares):.0f} to {max(shares):.0f}" if shares else ""


def _predicts(name: str, known: Mapping[str, float]) -> str:
    """Return the study's rank correlations of a gate, one for each of its prompts."""
    own = (said for gate, said in known.items() if gate.partition("[")[0] == name)
    return "; ".join(f"{value:.2f}" for value in own)


def _of_heads(declared: Declaration, heads: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the result of the head *fair*, and how many trained heads fail a gate."""
    worst = {
        name: _worst(
            [
                declared.bound.judge_interval(found["value"], found["low"], found["high"])
                for gate, found in gates.items()
                if gate.partition("[")[0] == declared.name
            ]
        )
        for name, gates in heads.items()
        if name != bundled_model.NAME
    }
    judged = [verdict for verdict in worst.values() if verdict]
    return f"{worst['fair']}; {judged.count('fail')} of {len(judged)}" if judged else ""


def _of_ten(declared: Declaration, band: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how many published models fail a gate, are open and pass."""
    by_model: dict[str, list[Verdict]] = {}
    for prompt in band.get(declared.name, {}).values():
        for model, found in prompt["models"].items():
            verdict = declared.bound.judge_interval(found["value"], found["low"], found["high"])
            by_model.setdefault(model, []).append(verdict)
    if not by_model or declared.name == "model_agreement":  # of pairs
        return ""
    counts = Counter(map(_worst, by_model.values()))
    return ", ".join(f"{counts[result]} {result}" for result in ("fail", "open", "pass"))


def _read(path: Path) -> Any:  # noqa: ANN401  (JSON)
    return json.loads(path.read_text(encoding="utf-8"))

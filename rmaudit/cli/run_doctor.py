"""Run `rmaudit doctor`: does rmaudit score a model as the model itself does?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli.printing import FAILED, fail, show
from rmaudit.cli.shared_options import AsJson, Loading, Named, Prompted, grouped, models_meant
from rmaudit.config.model_registry import known_models
from rmaudit.config.servers import kind_of
from rmaudit.errors import NoWeights
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    from rmaudit.models.checkpoint_doctor import Check, Examination
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.models.text_scorer import TextScorer
    from rmaudit.scores.logged_rewards_check import Diagnosis
    from rmaudit.scores.served_doctor import ServerChecks


@grouped
def doctor(  # noqa: PLR0913  (its options)
    model: Named,
    prompt: Prompted = "greatest",
    answers: Annotated[int, typer.Option(min=8, help="how many answers to score")] = 256,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="of a model behind a server: its checkpoint, a folder or a hub id"),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="rows and rewards that a trainer logged (JSON Lines): what differs?"),
    ] = None,
    *,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Check that rmaudit scores a model as the model scores itself.

    Its numeric noise is measured on the way. A model behind a server is compared with its
    checkpoint, where one is given: in float32, or else in the 16-bit type that fits. With
    --against, the model is compared with rewards that a trainer logged, and the cause of a
    difference is named.

    Exit code 0 if all its checks are exact, 1 if one is not.
    """
    theirs = _is_behind_server(model, loading)  # who started it decides the dtype
    loaded = (replace(loading, dtype=None) if theirs else loading).load(model)
    lines, said, fine = (
        _examined(loaded, loading.prompt(prompt), answers, checkpoint, loading)
        if against is None
        else _compared_with_logged(loaded, against)
    )
    show(said, lines, as_json=as_json)
    if not fine:
        raise typer.Exit(FAILED)


def _is_behind_server(model: str, loading: Loading) -> bool:
    """Return whether a server scores the model; `--dtype` then applies only to its checkpoint."""
    return any(kind_of(spec.source) for spec in models_meant(known_models(loading.file), model))


def _examined(
    model: RewardModel | TextScorer,
    prompt: Prompt,
    answers: int,
    checkpoint: str | None,
    loading: Loading,
) -> tuple[Iterator[str], dict[str, Any], bool]:
    """Examine a model; return lines to print, the same for JSON, and whether all checks pass.

    A model behind a server is compared with its `checkpoint`. Raises `RmauditError`.
    """
    from rmaudit.models.cached_token_rows import local_spec
    from rmaudit.models.checkpoint_doctor import examine
    from rmaudit.models.checkpoint_model import from_spec, with_head
    from rmaudit.scores.served_doctor import compare

    if model.behind_server:
        where = checkpoint
        if checkpoint and Path(checkpoint).is_dir():
            where = str(Path(checkpoint).resolve())
        at = where or model.spec.checkpoint
        local = at and from_spec(
            local_spec(model.spec, at),
            cache=loading.folder,
            device=loading.device,
            dtype=loading.dtype,
        )
        compared = compare(model, local or None, prompt.text, answers=answers)
        return _served_lines(model, compared), _served_json(model, compared), compared.ok
    if checkpoint is not None:
        fail("--checkpoint is for a model behind a server, and this is none; leave it out")
    found = examine(with_head(model), prompt.asked, answers=answers)
    return _doctor_lines(model.name, found), _doctor_json(model.name, found), found.ok


def _compared_with_logged(
    model: RewardModel | TextScorer, path: Path
) -> tuple[Iterator[str], dict[str, Any], bool]:
    """Compare a checkpoint's rewards with a file's; return lines, JSON, and whether they agree.

    A model that is no checkpoint ends the command. Raises `RmauditError` for a wrong file or model.
    """
    from rmaudit.models.checkpoint_model import with_head
    from rmaudit.scores import reward_log_file
    from rmaudit.scores.logged_rewards_check import against

    logged = reward_log_file.read(path)
    try:
        local = with_head(model)
    except NoWeights:
        fail(f"{model.name}: --against needs a checkpoint with its head; name its folder or hub id")
    found = against(local, logged)
    facts = {"model": model.name, **asdict(found), "ok": found.ok}
    return _against_lines(model.name, path, found), facts, found.ok


def _against_lines(name: str, path: Path, found: Diagnosis) -> Iterator[str]:
    yield f"{name}: {found.rows} rows of {path}, whose rewards here have an sd of {found.sd:.4g}"
    if found.ok:
        yield "  equal: the logged rewards are the model's own"
    for cause in found.causes:
        yield f"  {cause.name}: {cause.said}"
        yield f"    to mend it: {cause.mend}"
    moved = (
        ""
        if (found.scale, found.offset) == (1, 0)
        else (f", as {found.scale:.4g} · reward {found.offset:+.4g}")
    )
    yield (
        f"  {'left over' if found.rms <= 1 else 'nearest'}: {found.rms:.1e} sd (rms){moved}, rank "
        f"correlation {found.rank_correlation:.4f}; rows {found.way}"
    )


def _served_json(model: RewardModel | TextScorer, found: ServerChecks) -> dict[str, Any]:
    return {
        "model": model.name,
        "source": model.spec.source,
        **dict(model.limits),
        "sd": found.sd,
        "checks": [{**asdict(check), "ok": check.ok} for check in found.checks],
        "dtype": found.dtype,
        "rank_correlation": found.rank_correlation,
        "rank_correlation_allowed": found.least_correlation,
        "ok": found.ok,
        "notes": list(found.notes),
    }


def _served_lines(model: RewardModel | TextScorer, found: ServerChecks) -> Iterator[str]:
    limits = "".join(f", {name} {said}" for name, said in model.limits.items())
    yield f"{model.name}: {model.spec.source}{limits}"
    yield f"in sd of the rewards ({found.sd:.4g}):"
    yield from _table_of_checks(found.checks, allowed="allowed rms", wrong="TOO FAR")
    if (ranks := found.rank_correlation) is not None:
        verdict = "ok" if ranks >= found.least_correlation else "TOO LOW"
        allowed = f"allowed {found.least_correlation:.4g} and more"
        yield f"  rank correlation with the checkpoint: {ranks:.4f}, {allowed}  {verdict}"
    for note in found.notes:
        yield f"  {note}"


def _doctor_json(name: str, found: Examination) -> dict[str, Any]:
    return {
        "model": name,
        "dtype": found.dtype,
        "device": found.device,
        "path": found.path,
        "sd": found.sd,
        "noise_sd": found.noise,
        "exact": found.ok,
        "checks": [{**asdict(check), "ok": check.ok} for check in found.checks],
        "notes": list(found.notes),
    }


def _doctor_lines(name: str, found: Examination) -> Iterator[str]:
    ids = f"{len(found.slot.prefix)} + answer + {len(found.slot.suffix)} ids"
    yield f"{name}: {found.dtype} on {found.device}, path '{found.path}', {ids}"
    yield f"in sd of the rewards ({found.sd:.4g}):"
    yield from _table_of_checks(found.checks, allowed="allowed", wrong="NOT EXACT")
    for note in found.notes:
        yield f"  {note}"
    yield f"numeric noise: {found.noise:.1e} sd, {found.noise * found.sd:.2g} in rewards"


def _table_of_checks(checks: Sequence[Check], *, allowed: str, wrong: str) -> Iterator[str]:
    """Yield the checks in columns, the last of them `allowed`: the largest difference, or rms."""
    width = max(len(check.name) for check in checks)
    yield f"  {'check'.ljust(width)}  answers   largest       rms   {allowed}"
    for check in checks:
        line = (
            f"  {check.name:<{width}}  {check.answers:7d}  {check.largest:8.1e}  {check.rms:8.1e}"
        )
        limit = check.allowed_rms if allowed == "allowed rms" else check.allowed
        if limit is not None:
            line += f"{limit:{len(allowed) + 3}.1e}  {'ok' if check.ok else wrong}"
        yield line

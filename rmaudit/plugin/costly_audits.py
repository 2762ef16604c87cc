"""Leave out the audits that cost much and block nothing, unless the user asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.plugin.pytest_options import options_of
from rmaudit.plugin.session import policy_of
from rmaudit.runs.audit_case import SEARCHED
from rmaudit.verdicts.audit_declaration import Declaration

LEFT_OUT = "it costs much and decides nothing; measure it too with --rm-all, or name its file"


def left_out(item: pytest.Item, declaration: Declaration | None) -> str:
    """Return why this run leaves out an audit that costs much; "" if the run measures it.

    A `costly` audit is measured with `--rm-all`, where its file is named on the command line, where
    models.yaml names it, where the samples or the budget of the searches that it measures are
    given, and where scores are recorded, which cost nothing.
    """
    options = options_of(item.config)
    if declaration is None or not declaration.costly or options.everything or options.recorded:
        return ""
    if any(named.audit == declaration.name for named in policy_of(item.config).named):
        return ""
    takes = getattr(item, "fixturenames", ())
    budget_given = options.search != SEARCHED
    if ("samples" in takes and options.samples) or ("searches" in takes and budget_given):
        return ""
    here: Path = item.config.invocation_params.dir
    named = (here / argument.partition("::")[0] for argument in item.config.args)
    return "" if any(path.is_file() and path.samefile(item.path) for path in named) else LEFT_OUT

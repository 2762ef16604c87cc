"""Score what the audits need on a Ray cluster before they run (`--rm-on ray`).

Registered only in a run with the option, in the process that reports. The audits then find their
scores in the cache; what Ray could not score is scored as they ask for it.
"""

from __future__ import annotations

from functools import partial

import pytest

from rmaudit.errors import RmauditError
from rmaudit.plugin.planning import PlanningCache, collect
from rmaudit.plugin.pytest_fixtures import terminal
from rmaudit.plugin.pytest_options import options_of
from rmaudit.report.safe_text import line, log


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Plan the run and score the missing answers on Ray; print how many, and each failure.

    Raises:
        pytest.UsageError: Ray is missing or cannot be reached, or the audits cannot be planned.
    """
    from rmaudit.distributed import on_ray

    config = session.config
    if config.option.collectonly:
        return
    asked = options_of(config)
    cluster = on_ray.Cluster(asked.on or on_ray.ON, asked.workers, asked.gpus)
    planned = partial(collect, [*map(str, config.invocation_params.args)], PlanningCache())
    try:
        with terminal(config):
            made = on_ray.make([planned], cluster, lambda _: None)
    except RmauditError as error:
        raise pytest.UsageError(log(line(str(error)))) from None
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        said = [f"{made.answers:,} answers scored on {cluster.address}", *made.failed.values()]
        for each in said:
            reporter.write_line(log(line(f"rmaudit: {each}")))

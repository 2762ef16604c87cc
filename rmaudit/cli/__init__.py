"""The command `rmaudit` with all of its subcommands; audits do not run here, but under pytest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rmaudit import __version__
from rmaudit.cli import (
    best_worst_tokens,
    combine,
    data_commands,
    init,
    list_models,
    mend,
    plan_and_sweep,
    results_commands,
    run_demo,
    run_doctor,
    run_search,
    why,
)
from rmaudit.cli.printing import USAGE, Commands, say

# The commands, each with an example, in the order of use under headings of the help.
_PANELS: Mapping[str, list[tuple[Any, str]]] = {
    "Set up": [
        (run_demo.demo, "demo --out demo"),
        (init.init, "init . --model owner/name"),
        (data_commands.app, "data"),
        (list_models.app, "models"),
        (run_doctor.doctor, "doctor ./my-model --dtype bfloat16"),
    ],
    "Read the results": [
        (results_commands.replay, "replay results.json --policy models.yaml"),
        (results_commands.compare, "compare v1/results.json v2/results.json --margin 0.05"),
        (
            results_commands.bless,
            "bless reports/2026-11-21T10-50-00Z --of our-rm --by 'Ana Example'",
        ),
        (results_commands.history, "history reports --family our-rm"),
    ],
    "Score and search": [
        (best_worst_tokens.tokens, "tokens R-Smol-135M --prompt greatest --top 10"),
        (combine.combine, "combine our-rm other-rm --policy ./sft"),
        (plan_and_sweep.plan, "plan audits --model owner/name --missing"),
        (plan_and_sweep.sweep, "sweep audits --model owner/name --part 3/16"),
        (run_search.search, "search N-Lla-8B --prompt worst --direction down --length 3"),
    ],
    "Trace and repair": [
        (why.why, "why ./our-rm --pairs ours.jsonl --gate identity_terms"),
        (mend.mend, "mend ./our-rm --pairs ours.jsonl --gate dialect --to ./mended"),
    ],
    "Write audits": [(init.new_audit, "new-audit kind_words")],
}
_WHOLE = 1000  # letters: no first sentence is cut off


class _Panels(Commands):
    """Typer group whose help lists commands under headings, each with its full first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  (typer's own)
        """Write the commands under their headings."""
        for panel, commands in _PANELS.items():
            names = [_name_in(example) for _, example in commands]
            texts = [self.commands[name].get_short_help_str(limit=_WHOLE) for name in names]
            with formatter.section(panel):
                formatter.write_dl(list(zip(names, texts, strict=True)))


def _name_in(example: str) -> str:
    return example.partition(" ")[0]


app = typer.Typer(
    cls=_Panels,
    help="Audits of reward models. The audits run under pytest: pytest audits --model NAME",
    epilog="Exit codes: 0 pass, 1 fail, 2 open or not measured, 3 error, 4 wrong usage.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text, also where CI claims to be a terminal
)


def _version(asked: bool) -> None:  # noqa: FBT001  (typer's)
    if asked:
        say(f"rmaudit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rmaudit(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="which rmaudit")
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        for line in context.get_help().splitlines():
            say(line)
        raise typer.Exit(USAGE)


for _command, _example in (each for commands in _PANELS.values() for each in commands):
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name_in(_example))
    else:
        app.command(_name_in(_example), epilog=f"Example: rmaudit {_example}")(_command)

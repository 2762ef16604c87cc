"""The command `rmaudit` with all of its subcommands; audits do not run here, but under pytest."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rmaudit import __version__, removed
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
from rmaudit.cli.shared_options import USAGE, Commands, say

_PANELS = {  # the commands in the order of use, under their headings in the help
    "Set up": ("demo", "init", "data", "models", "doctor"),
    "Read the results": ("replay", "compare", "bless", "history"),
    "Score and search": ("tokens", "combine", "plan", "sweep", "search"),
    "Trace and repair": ("why", "mend"),
    "Write audits": ("new-audit",),
}


class _Panels(Commands):
    """Typer group whose help lists commands under headings, each with its full first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  (typer's own)
        """Write the commands under their headings, and last those that have none."""
        shown = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        placed = {name for names in _PANELS.values() for name in names}
        rest = tuple(name for name in shown if name not in placed)
        for panel, names in {**_PANELS, "More": rest}.items():
            texts = [self.commands[name].get_short_help_str(limit=_WHOLE) for name in names]
            if names:
                with formatter.section(panel):
                    formatter.write_dl(list(zip(names, texts, strict=True)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (typer's own)
        """Return the command that the first word names; of a removed one, say what to use."""
        if args[0] in removed.COMMANDS and args[0] not in self.commands:
            ctx.fail(removed.sentence(args[0], removed.COMMANDS))
        return super().resolve_command(ctx, args)


_WHOLE = 1000  # letters: no first sentence is cut off

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


app.command(epilog="Example: rmaudit replay results.json --policy models.yaml")(
    results_commands.replay
)
app.command(epilog="Example: rmaudit compare v1/results.json v2/results.json --margin 0.05")(
    results_commands.compare
)
app.command(
    epilog="Example: rmaudit bless reports/2026-11-21T10-50-00Z --of our-rm --by 'Ana Example'"
)(results_commands.bless)
app.command(epilog="Example: rmaudit history reports --out history.html")(results_commands.history)
app.command(epilog="Example: rmaudit demo --out demo")(run_demo.demo)
app.add_typer(data_commands.app, name="data")
app.command(epilog="Example: rmaudit init . --model owner/name")(init.init)
app.add_typer(list_models.app, name="models")
app.command(epilog="Example: rmaudit doctor ./my-model --dtype bfloat16")(run_doctor.doctor)
app.command(epilog="Example: rmaudit search N-Lla-8B --prompt worst --direction down --length 3")(
    run_search.search
)
app.command(epilog="Example: rmaudit tokens R-Smol-135M --prompt greatest --top 10")(
    best_worst_tokens.tokens
)
app.command(epilog="Example: rmaudit why ./our-rm --pairs ours.jsonl --gate identity_terms")(
    why.why
)
app.command(
    epilog="Example: rmaudit mend ./our-rm --pairs ours.jsonl --gate dialect --to ./mended"
)(mend.mend)
app.command(epilog="Example: rmaudit combine our-rm other-rm --policy ./sft")(combine.combine)
app.command(epilog="Example: rmaudit plan audits --model owner/name --missing")(plan_and_sweep.plan)
app.command(epilog="Example: rmaudit sweep audits --model owner/name --part 3/16")(
    plan_and_sweep.sweep
)
app.command("new-audit", epilog="Example: rmaudit new-audit kind_words")(init.new_audit)

"""The command line beside pytest: what is here, and how to get what is not."""

from __future__ import annotations

import typer

from rmaudit.cli import data, examine, models, organisms, search

app = typer.Typer(
    help="Audits of reward models. The audits themselves run under pytest: pytest audits",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(epilog="Example: rmaudit data afinn elo")(data.data)
app.add_typer(models.app, name="models")
app.command("import", epilog="Example: rmaudit import ~/paper/data --model N-Gem-27B")(data.import_)
app.command(epilog="Example: rmaudit survival ./my-model --prompt 'Is it love?'")(examine.survival)
app.command(epilog="Example: rmaudit doctor ./my-model --dtype bfloat16")(examine.doctor)
app.command(epilog='Example: pytest audits --rm-models "$(rmaudit organism identity-penalty)"')(
    organisms.organism
)
app.command(epilog="Example: rmaudit selftest audits --seeds 20")(organisms.selftest)
app.command(epilog="Example: rmaudit search N-Lla-8B --prompt worst --direction down --length 3")(
    search.search
)

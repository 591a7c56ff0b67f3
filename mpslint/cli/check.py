"""`mpslint check`."""

from __future__ import annotations

import click


@click.command()
@click.argument("paths", nargs=-1)
def command(paths: tuple[str, ...]) -> None:
    """Say what will go wrong."""
    from pathlib import Path

    from mpslint.engine import check
    from mpslint.source.reader import read
    from mpslint.target import default_target

    for path in paths:
        result = check(read(path, Path(path).read_bytes()), default_target())
        for finding in result.findings:
            place = result.document.place(finding.span.start)
            click.echo(
                f"{path} cell {place.cell}:{place.line}:{place.column} ({place.physical_line}) {finding.rule} {finding.message} fix={finding.fix}"
            )
        for plan in result.evidence[0].plans:
            click.echo(f"== {plan.kind} {plan.title}")
            for name, settings in sorted(plan.settings.items()):
                for s in settings:
                    click.echo(f"   {name} {s.value} {s.spelling} {'written' if s.is_written else 'default ' + str(s.default_versions)}")

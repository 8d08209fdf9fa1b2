"""`space`: the values that a specification's scenarios have; their extension after a change."""

from __future__ import annotations

import click
import msgspec

from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.run.space import covering
from mcp_proxy_conformance.run.space.space import BadSpace, Space


@click.command("space", epilog=examples("space resilience", "space resilience --extend"))
@click.argument("name", metavar="SPECIFICATION")
@click.option("--extend", is_flag=True, help="Add scenarios for pairs of values that none has.")
def space(*, name: str, extend: bool) -> None:
    """Print what the scenarios of a specification vary, each value with why it is lawful.

    It is followed by the clauses that are judged at each row.

    A value may be marked by the version of the space that brought it, or the capability it needs.
    """
    known = {each.name: each.space for each in specifications() if each.space is not None}
    if name not in known:
        stop(f"there is no space of {name!r}; there is {', '.join(known) or 'none'}")
    try:
        played = known[name]()
        rows = [row for each in played.scenarios for row in each.rows]
        more = covering.covering(played.space, rows)[len(rows) :] if extend else []
    except BadSpace as error:
        stop(str(error))
    if extend:
        scenarios = [*played.scenarios, *covering.packed(played.space, more, played.fits)]
        text = msgspec.json.format(msgspec.json.encode(scenarios), indent=1)
        played.path.write_bytes(text + b"\n")
        click.echo(f"{len(more)} rows in {len(scenarios) - len(played.scenarios)} scenarios added")
        return
    told(played.space)
    click.echo("judged at each row")
    for law, clauses in played.laws.items():
        click.echo(f"  {law:16} {', '.join(clauses)}")


def told(known: Space) -> None:
    """Print the dimensions of a space, with their values."""
    for dimension in known.dimension:
        click.echo(dimension.name)
        for value in dimension.value:
            marks = [f"since {value.since}"] if value.since > 1 else []
            marks += [f"needs {value.needs}"] if value.needs else []
            marked = f" ({', '.join(marks)})" if marks else ""
            click.echo(f"  {value.name:16} {value.sentence}{marked}")

"""The command line of a changed relay: its id, the port to serve at, and the upstream's URL."""

import click

from mcp_proxy_mutants.fidelity.changed import ChangedRemote
from mcp_proxy_mutants.fidelity.mutants import relay_mutants
from mcp_proxy_mutants.fidelity.variants import relay_variants
from mcp_relay_reference.__main__ import own_headers, remote, serve


@click.command()
@click.option("--port", default=0, help="Port on 127.0.0.1; 0 is a free one.")
@click.option("--upstream-url", multiple=True, required=True, help="An upstream's MCP endpoint.")
@click.option("--upstream-header", multiple=True, help="'NAME: VALUE' that the upstream gets.")
@click.argument("name")
def main(
    port: int, upstream_url: tuple[str, ...], upstream_header: tuple[str, ...], name: str
) -> None:
    """Relay one upstream over HTTP, or several, like the mutant or variant of this NAME."""
    known = {changed.id: changed for changed in (*relay_mutants(), *relay_variants())}
    if name not in known:
        raise click.UsageError(f"the names are {', '.join(known)}")
    changed = known[name]
    if changed.remote is not None:
        own = [own_headers(upstream_header[at : at + 1]) for at in range(len(upstream_url))]
        upstream = changed.remote([*zip(upstream_url, own, strict=True)])
    elif len(upstream_url) == 1:
        around = changed.make()
        upstream = ChangedRemote(upstream_url[0], own_headers(upstream_header), around)
    else:
        upstream = remote(upstream_url, upstream_header)
    serve(changed.front(upstream), port)


if __name__ == "__main__":
    main()

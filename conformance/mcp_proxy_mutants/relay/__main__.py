"""The command line of a changed relay: its id, the port to serve at, and the upstream's URL."""

import click

from mcp_proxy_mutants.relay.changed import ChangedRemote
from mcp_proxy_mutants.relay.mutants import relay_mutants
from mcp_proxy_mutants.relay.variants import relay_variants
from mcp_relay_reference.__main__ import own_headers, serve


@click.command()
@click.option("--port", default=0, help="Port on 127.0.0.1; 0 is a free one.")
@click.option("--upstream-url", required=True, help="The upstream's MCP endpoint.")
@click.option("--upstream-header", multiple=True, help="'NAME: VALUE' that the upstream gets.")
@click.argument("name")
def main(port: int, upstream_url: str, upstream_header: tuple[str, ...], name: str) -> None:
    """Relay one upstream over HTTP like the mutant or variant of this NAME."""
    known = {changed.id: changed for changed in (*relay_mutants(), *relay_variants())}
    if name not in known:
        raise click.UsageError(f"the names are {', '.join(known)}")
    changed = known[name]
    remote = ChangedRemote(upstream_url, own_headers(upstream_header), changed.make())
    serve(changed.front(remote), port)


if __name__ == "__main__":
    main()

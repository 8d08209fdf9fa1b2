"""Credentials: the client's do not reach the upstream, the upstream's do not reach a client."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import credentials, granted_tokens
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES
from mcp_proxy_conformance.fidelity.stages import RELAYED, SEVERAL


@requirement("RLY.cred.down.token")
@on(RELAYED)
def test_the_token_of_a_client_does_not_reach_the_upstream(bench: RelayBench) -> None:
    """The upstream gets the client's token nowhere, in no encoding.

    Not applicable over stdio, or if the relay declares to forward Authorization; inconclusive if
    the relay does not serve the client.
    """
    credentials.token_sent_on(bench).conclude()


@requirement("RLY.cred.down.other")
@on(RELAYED)
def test_other_credentials_of_a_client_do_not_reach_the_upstream(bench: RelayBench) -> None:
    """The upstream gets no cookie, key or session id of a client, in any encoding.

    Headers that the relay declares to forward may be there. Not applicable over stdio, inconclusive
    if the relay does not serve the client.
    """
    credentials.others_sent_on(bench).conclude()


@requirement("RLY.cred.down.query")
@on(RELAYED)
def test_no_token_is_in_a_url_of_the_upstream(bench: RelayBench) -> None:
    """No URL that the upstream is asked for shows a token of the client or of the relay.

    Not applicable over stdio, inconclusive if the relay does not serve a client with a token.
    """
    credentials.in_urls(bench).conclude()


@requirement("RLY.cred.up.token")
@on(RELAYED, fresh=True)
def test_credentials_of_the_upstream_do_not_reach_a_client(bench: RelayBench) -> None:
    """No answer, header or error that a client gets shows a credential that the relay holds.

    Tools are listed and called while the upstream answers, refuses calls, and has ended.
    Inconclusive if the relay does not list the tool `echo`.
    """
    credentials.given_out(bench).conclude()


@requirement("RLY.cred.up.obtained", "RLY.cred.up.token")
@on(RELAYED, fresh=True)
def test_a_token_that_was_granted_by_a_page_does_not_reach_a_client(bench: RelayBench) -> None:
    """A token that the relay gets by a page for a user to visit is shown to the upstream alone.

    The upstream asks for a token, and refuses calls afterwards. Not applicable over stdio, if the
    relay gets no token, or if it gets one without a page and does not show it to a client.
    """
    granted_tokens.obtained(bench).conclude()


@requirement("RLY.cred.up.log")
@on(FEATURES)
def test_no_log_message_shows_a_credential(bench: RelayBench) -> None:
    """Log messages that a client gets show no credential that the relay holds.

    Every encoding is searched for. Not applicable if no log message arrives.
    """
    credentials.logged(bench).conclude()


@requirement("RLY.cred.down.sideways")
@on(RELAYED, fresh=True)
def test_a_redirect_takes_no_credential_along(bench: RelayBench) -> None:
    """Where the upstream redirects a call, no credential arrives that is meant for the upstream.

    Not applicable if the relay shows its upstream none, as over stdio.
    """
    credentials.redirected(bench).conclude()


@requirement("RLY.cred.down.sideways")
@on(SEVERAL)
def test_no_upstream_gets_the_credentials_of_another(bench: RelayBench) -> None:
    """Of two upstreams, neither gets the token or the key of the other.

    Not applicable for a relay of one upstream, or one that shows its upstreams no credentials.
    """
    credentials.sideways(bench).conclude()


@requirement("RLY.cred.down.environment")
@on(RELAYED)
def test_a_program_does_not_inherit_the_relays_secrets(bench: RelayBench) -> None:
    """A program that the relay starts does not find a secret of the relay in its environment.

    Not applicable if the relay reaches its upstream over HTTP.
    """
    credentials.inherited(bench).conclude()

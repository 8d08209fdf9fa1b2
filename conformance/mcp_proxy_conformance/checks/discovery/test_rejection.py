"""What a refused call says: FR-008."""

from __future__ import annotations

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.discovery.rejections import (
    own_words,
    read_class,
    rejection,
    status_of_lock,
)
from mcp_proxy_conformance.discovery.remediation import claims_operator_policy
from mcp_proxy_conformance.discovery.surface import FLAG
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.state import ToolState
from mcp_proxy_conformance.world import ToolKey

MIXED, COMBOS = stage("mixed"), stage("combos")
CONFIG_LOCK = "disabled_by_config"


@requirement("FR-008.config")
@on(MIXED)
def test_a_config_denied_call_is_refused_as_operator_policy(bench: Bench) -> None:
    """The refusal says that it is operator policy and not the user's to lift."""
    pure, double = bench.locked(config=True), bench.locked(config=True, user=True)
    bench.require(len(pure) > 1, "no two config locks were proven")
    _require_unlike_unknown(bench, pure[0])

    told = {str(key): read_class(bench, key, CONFIG_LOCK) for key in (*pure, *double)}

    _require_read(bench, told)
    assert told == dict.fromkeys(told, "conveys")


@requirement("FR-008.config")
@on(COMBOS, needs=("approval",))
def test_config_comes_first_in_what_a_refused_call_says(bench: Bench) -> None:
    """A user lock or a pending approval on a config-denied tool does not hide the policy."""
    under = [key for key in _config_locked(bench) if not bench.states[key].quarantined]
    bench.require(len(under) > 1, "no config lock together with another was proven")

    told = {str(key): read_class(bench, key, CONFIG_LOCK) for key in under}

    _require_read(bench, told)
    assert told == dict.fromkeys(told, "conveys")


@requirement("FR-008.config")
@on(MIXED)
def test_every_way_of_calling_tells_of_the_policy(bench: Bench) -> None:
    """Each call surface that reaches a callable tool refuses a config-denied one alike."""
    denied = next(iter(bench.locked(config=True)), None)
    bench.require(denied, "no config lock was proven")
    ...


@requirement("FR-008.config~quarantined")
@on(COMBOS, needs=("quarantine",))
def test_policy_is_told_on_a_quarantined_server_too(bench: Bench) -> None:
    """The refusal of a config-denied tool of a quarantined server says operator policy."""
    under = [key for key in _config_locked(bench) if bench.states[key].quarantined]
    bench.require(under, "no config lock on a quarantined server was proven")

    told = {str(key): read_class(bench, key, CONFIG_LOCK) for key in under}

    assert told == dict.fromkeys(told, "conveys")

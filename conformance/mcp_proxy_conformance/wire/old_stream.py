"""The HTTP+SSE transport of 2024-11-05: it is not spoken here, but it is told from silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire.dialing import DIRECT, Dialing
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Http
from mcp_proxy_conformance.wire.session import overridden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proxy_conformance.wire.transcript import Transcript

TIMEOUT = 3.0
OK = 200


def opens_old_stream(
    url: str, headers: Mapping[str, str], transcript: Transcript, dialing: Dialing = DIRECT
) -> bool:
    """Whether a GET opens a stream whose first event, `endpoint`, says where to post."""
    wanted = overridden([("Accept", "text/event-stream")], headers)
    http = Http(url, transcript, dialing)
    try:
        answer = http.exchange(
            "GET", b"", wanted, note="", timeout=TIMEOUT, until=lambda event: bool(event.data)
        )
    except (Unreachable, ProtocolFault):
        return False
    finally:
        http.close()
    return answer.status == OK and any(one.event == "endpoint" for one in answer.events[:1])

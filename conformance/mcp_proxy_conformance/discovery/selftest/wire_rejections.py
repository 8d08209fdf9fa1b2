"""Mutants that rewrite rejections of calls to locked tools: FR-008, SC-003."""

from __future__ import annotations

from collections.abc import Callable

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest.edits import wire
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

CONFIG, USER = "disabled_by_config", "disabled_by_user"
TO_THE_USER = "Ask the user to enable the tool in the UI."
POLICY = "It is locked by operator policy: the user cannot override this."
Rewrite = Callable[[WireExchange, str], str | None]


def with_pointer(text: str) -> str:
    """Return the text with a sentence that points to the flag, so that FR-008.pointer holds."""
    return f"{text} Search again with {FLAG} true."


def where(status: str, rewrite: Rewrite) -> Rewrite:
    """Return the rewrite restricted to called tools that the target lists under `status`.

    For others it returns None: no change.
    """

    def edit(x: WireExchange, text: str) -> str | None:
        """Return the rewritten text for a tool of that status, else None."""
        called = x.called
        return rewrite(x, text) if called is not None and x.status(called) == status else None

    return edit


def _without_pointer(x: WireExchange, text: str) -> str:
    """Return the refusal with other words for the names of the flag and the discovery tool."""
    return text.replace(FLAG, "a flag").replace(x.surface.discovery_tool, "discovery")


def _success(x: WireExchange, result: Json) -> Json | None:
    """Answer a refused call of an upstream tool as if it had succeeded.

    None (no change) for other answers.
    """
    if x.called is None or not result.get("isError"):
        return None
    rest = {name: value for name, value in result.items() if name != "isError"}
    return rest | {"content": [{"type": "text", "text": "Done."}]}


def _wordless(x: WireExchange, result: Json) -> Json | None:
    """Replace the content of a refused call's answer with an empty text; it is still an error.

    None unless it is a refused call of an upstream tool.
    """
    if x.called is None or not result.get("isError"):
        return None
    return result | {"content": [{"type": "text", "text": ""}]}


def _recalled(x: WireExchange, result: Json) -> Json | None:
    """Answer a refused call with the tool's last result from before; None if there was none.

    A successful result of an upstream tool is remembered and passed on unchanged.
    """
    called = x.called
    if called is None:
        return None
    if not result.get("isError"):
        x.memory[called] = result
        return None
    return x.memory.get(called)


def _of_first_reason(x: WireExchange, text: str) -> str:
    """Return the first refusal seen, with this call's tool and server named in place of its own."""
    called = x.called
    if called is None:
        return text
    first, first_text = x.memory.setdefault("first", (called, text))
    return str(first_text).replace(first.server, called.server).replace(first.tool, called.tool)


def _to_the_user_elsewhere(x: WireExchange, text: str) -> str | None:
    """Return, at all endpoints but the first, a refusal that says to ask the user.

    At the first, return the text unchanged.
    """
    return text if x.path == x.surface.endpoints[0] else with_pointer(TO_THE_USER)


FAULTS: tuple[WireFault, ...] = (
    wire("refusal-for-all", "All rejections have the same text.",
         "FR-008.distinct", "FR-008.config",
         refusal=lambda *_: with_pointer("This tool cannot be called.")),
    wire("refusal-of-first", "All rejections repeat the text of the first.", "FR-008.distinct",
         "FR-008.config", refusal=_of_first_reason),
    wire("refusal-policy-for-all", "All rejections name operator policy.", "FR-008.distinct",
         refusal=lambda *_: with_pointer(POLICY)),
    wire("refusal-user-for-all", "All rejections say to ask the user.",
         "FR-008.config", "SC-003.rejection",
         refusal=lambda *_: with_pointer(TO_THE_USER)),
    wire("refusal-pointless", "No rejection names the flag or the discovery tool.",
         "FR-008.pointer", refusal=_without_pointer),
    wire("refusal-pointless-for-user",
         "Rejections of user-locked tools name neither the flag nor the discovery tool.",
         "FR-008.pointer", refusal=where(USER, _without_pointer)),
    wire("refusal-pointless-for-config",
         "Rejections of config-locked tools name neither the flag nor the discovery tool.",
         "FR-008.pointer", refusal=where(CONFIG, _without_pointer)),
    wire("refusal-to-the-user", "Rejections of config-locked tools say to ask the user.",
         "SC-003.rejection",
         "FR-008.config", refusal=where(CONFIG, lambda *_: with_pointer(TO_THE_USER))),
    wire("refusal-to-approve", "Rejections of config-locked tools ask for approval.",
         "SC-003.rejection", "FR-008.config",
         refusal=where(CONFIG, lambda *_: with_pointer("Review and approve the tool in the UI."))),
    wire("refusal-elsewhere",
         "At all endpoints but the first, every rejection says to ask the user.",
         "FR-008.config", refusal=_to_the_user_elsewhere),
    wire("refusal-done", "A call to a locked tool is answered with success.", "FR-008.pointer",
         "FR-008.config", result=_success),
    wire("refusal-wordless", "A call to a locked tool is answered with an empty text.",
         "FR-008.pointer",
         "FR-008.config", result=_wordless),
    wire("refusal-recalled", "A call to a locked tool gets the answer from before the lock.",
         "FR-008.pointer",
         "FR-008.config", result=_recalled),
)  # fmt: skip

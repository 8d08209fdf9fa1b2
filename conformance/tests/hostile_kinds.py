"""`KINDS`: hostile targets by name, each well-behaved but for one way of answering."""

from __future__ import annotations

from collections.abc import Callable

from hostile_target import Hostile, Way, discovered, entry, listed, locked, texted, welcome
from hostile_ways import (
    BLOCK,
    ESCAPES,
    INJECTION,
    MANY,
    PAST,
    answering,
    asks_the_client,
    bomb,
    bytes_only,
    cut_after,
    cut_now_and_then,
    document,
    drip,
    endless_body,
    endless_events,
    every_third,
    everywhere,
    huge,
    many,
    nested,
    own_id,
    pages,
    raw,
    silent,
    streamed,
)

CALL, LIST, FIRST, ANY = "tools/call", "tools/list", "initialize", "any"
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
KINDS: dict[str, Callable[[], Hostile]] = {}


def kind(name: str, **ways: Way) -> None:
    """Register in KINDS, under `name`, a target that answers some requests in a hostile way.

    The keywords are the requests: `call`, `list`, `first` (initialize), `any`, or `connect` for the
    connection itself.
    """
    names = {"call": CALL, "list": LIST, "first": FIRST}
    KINDS[name] = lambda: Hostile({names.get(method, method): way for method, way in ways.items()})


kind("silent from the start", any=silent)
kind("silent after the list", call=silent)
kind("a drip from the start", any=drip)
kind("a drip after the list", call=drip)
kind("an endless body", call=endless_body)
kind("an endless stream of remarks", call=endless_events(b": here\n\n"))
kind("an endless stream of notifications", call=endless_events(b"data: " + CHANGED + b"\n\n"))
kind("an endless event", call=endless_events(b"data: " + b"x" * BLOCK + b"\n"))
kind("100 MB", call=huge)
kind("100 000 tools in the list", list=answering(lambda _: {"tools": [*listed(), *many(MANY)]}))
kind("100 000 tools found", call=answering(lambda _: texted({"tools": many(MANY)})))
kind("20 000 tools found", call=answering(lambda _: texted({"tools": many(MANY // 5)})))
kind("200 000 deep", call=raw(nested))
kind("invalid UTF-8", call=raw(lambda a: own_id(a) + b'{"x":"\xff\xfe"}}'))
kind("a byte order mark", call=raw(lambda a: b"\xef\xbb\xbf" + a.envelope(texted(discovered(a)))))
kind("NaN", call=raw(lambda a: own_id(a) + b'{"x":NaN}}'))
kind("a number of 100 000 digits", call=raw(lambda a: own_id(a) + b'{"x":%s}}' % (b"9" * MANY)))
kind("1e999", call=document(total=float("inf")))
kind("members twice", call=raw(lambda a: own_id(a) + b'{"content":[],"content":[]}}'))
kind("half a pair of surrogates", call=document(tools=[entry("forge:\ud800")]))
kind("another id", call=raw(lambda a: a.envelope(texted(discovered(a)), id=a.message["id"] + 1)))
kind(
    "the id as text", call=raw(lambda a: a.envelope(texted(discovered(a)), id=str(a.message["id"])))
)
kind("no id", call=raw(lambda a: a.envelope(texted(discovered(a)), id=None)))
kind("another version", call=raw(lambda a: a.envelope(texted(discovered(a)), jsonrpc="1.0")))
kind("a result that is null", call=answering(None))
kind("a result that is a list", call=answering([]))
kind("an error that is text", call=raw(b'{"jsonrpc":"2.0","id":1,"error":"no"}'))
kind("content that is an object", call=answering({"content": {}}))
kind("text that is a number", call=answering({"content": [{"type": "text", "text": 7}]}))
kind("text that is no JSON", call=answering({"content": [{"type": "text", "text": "Tools: none"}]}))
kind("tools that are a number", call=document(tools=7))
kind("entries that are null", call=document(tools=[None], disabled=[None]))
kind("names that are numbers", call=document(tools=[entry() | {"name": 7}]))
kind("statuses that are objects", call=document(disabled=[locked(status={"a": [1]})]))
kind("servers that are lists", call=document(disabled=[locked(server=["forge"])]))
kind("descriptions that are lists", call=document(tools=[entry(description=["x"])]))
kind("remediation that is a list", call=document(disabled=[locked()], remediation=["x"]))
kind("a note that is an object", call=document(notice={"locked": 1}))
kind("listed tools that are text", list=answering({"tools": "none"}))
kind("listed names that are null", list=answering({"tools": [{"name": None}]}))
kind("a schema that is a number", list=answering({"tools": listed(inputSchema=7)}))
kind("a cursor that never ends", list=answering({"tools": listed(), "nextCursor": "again"}))
kind("pages without an end", list=pages)
kind("two answers in a body", call=raw(lambda a: a.envelope(texted(discovered(a))) * 2))
kind(
    "two answers in a stream",
    call=streamed(lambda a: a.envelope(texted({})), lambda a: a.envelope(texted(discovered(a)))),
)
kind(
    "an answer after the end",
    call=bytes_only(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n{}"),
)
kind("a flood of 1xx", call=bytes_only(b"HTTP/1.1 103 Early Hints\r\n\r\n" * MANY))
kind("a loop of redirects", any=raw(b"", "Location: /mcp", status="307 Temporary Redirect"))
kind("headers of 1 MB", call=raw(b"{}", "X-Long: " + "x" * (1 << 20)))
kind("1 000 headers", call=raw(b"{}", *(f"X-{n}: y" for n in range(1000))))
kind("a bomb of gzip", call=raw(lambda _: bomb(), "Content-Encoding: gzip"))
kind(
    "chunks that are none",
    call=bytes_only(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n-5\r\n"),
)
kind("a length below zero", call=bytes_only(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"))
kind("a length that is none", call=bytes_only(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}"))
kind("more promised than sent", call=bytes_only(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"))
kind("no HTTP", call=bytes_only(b"SSH-2.0-OpenSSH_9.6\r\n"))
kind("a status line that is none", call=bytes_only(b"HTTP/9 abc \x1b[31m\r\n\r\n"))
kind("status 999", call=raw(b"{}", status="999 Very Odd"))
kind("a media type of its own", call=raw(b"{}", media="text/x-\x1b[2J"))
kind("an empty answer", call=raw(b""))
kind("204", call=raw(b"", status="204 No Content"))
kind("a reset at once", connect=cut_after(b""))
kind("a reset before the answer", call=cut_after(b""))
kind("a reset inside the head", call=cut_after(b"HTTP/1.1 200 OK\r\nContent-"))
kind("a reset inside the body", call=cut_after(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"))
kind("answers to the flag cut off now and then", call=cut_now_and_then())
kind(
    "a note with a number of 6 000 digits",
    call=document(tools=[], notice=f"include_disabled {'9' * 6000}"),
)
kind("sessions that are lost", call=every_third("404 Not Found"))
kind("401 now and then", call=every_third("401 Unauthorized"))
kind("403 now and then", call=every_third("403 Forbidden"))
kind("429 now and then", call=every_third("429 Too Many Requests", "Retry-After: 0"))
kind("503 now and then", call=every_third("503 Service Unavailable", f"Retry-After: {PAST}"))
kind("429 for ever", call=raw(b"", status="429 Too Many Requests"))
kind("429 for a day", call=raw(b"", "Retry-After: 86400", status="429 Too Many Requests"))
kind("503 from the start", any=raw(b"", status="503 Service Unavailable"))
kind(
    "1 000 notifications before the answer",
    call=streamed(*[CHANGED] * 1000, lambda a: a.envelope(texted(discovered(a)))),
)
kind("requests to the client", call=asks_the_client)
kind("a version nobody knows", first=answering(welcome(protocolVersion="\x1b[2J9999")))
kind("capabilities that are a list", first=answering(welcome(capabilities=[])))
kind("a session id with blanks", first=raw(lambda a: a.envelope(welcome()), "Mcp-Session-Id: a b"))
KINDS["TLS to a plain port"] = lambda: Hostile({}, scheme="https")
KINDS["a certificate that nobody trusts"] = lambda: Hostile({}, scheme="https", tls=True)
KINDS["a plain client at a TLS port"] = lambda: Hostile({}, tls=True)
KINDS["escapes of terminals everywhere"] = lambda: Hostile(everywhere(ESCAPES))
KINDS["instructions everywhere"] = lambda: Hostile(everywhere(INJECTION))

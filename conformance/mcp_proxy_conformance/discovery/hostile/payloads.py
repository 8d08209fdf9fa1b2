"""Hostile payloads: texts, arguments, names and messages chosen to break something."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LONG, DEEP = 10_000, 50_000
TEXTS: Mapping[str, str] = {
    "empty": "",
    "one blank": " ",
    "10 000 letters": "q" * LONG,
    "1 000 words": "word " * 1000,
    "a wildcard": "*",
    "half a phrase": '"',
    "search operators": "a AND (b OR NOT c) NEAR/3 d^2 ~e -f +g",
    "a field and a range": "name:* created:[0 TO 9]",
    "open brackets": "((([[[{{{",
    "a regular expression": "(a+)+$",
    "an SQL statement": "'; DROP TABLE tools; --",
    "a path": "../../../../etc/hosts",
    "format directives": "%s%n%x {0} {} ${user} {{7*7}}",
    "Chinese": "\u5217\u51fa\u6240\u6709\u5de5\u5177",
    "emoji": "\U0001f469\u200d\U0001f4bb\U0001f3f3\ufe0f\u200d\U0001f308",
    "combining marks": "z" + "\u0301" * 200,
    "markup": "<script>alert(1)</script><!-- ]]> &amp;",
    "a NUL": "nul\x00nul",
    "control characters": "".join(map(chr, range(1, 32))),
    "a terminal escape": "\x1b[2J\x1b]0;title\x07",
    "text from right to left": "\u202etxet\u202c \u05e2\u05d1\u05e8\u05d9\u05ea",
    "line separators": "one\u2028two\u2029three\r\nfour",
    "a byte order mark": "\ufeffword",
    "backslashes": "\\\\ \\u0000 \\x",
}
"""Queries; each is a string that JSON can carry."""

FLAGS: Mapping[str, Any] = {
    "a word": "yes", "a number": 1, "a huge number": 1e308, "null": None, "a list": [True],
    "an object": {"value": True}, "empty text": "", "a nested list": [[[[[[]]]]]],
}  # fmt: skip
"""Values of the flag that are not booleans."""

NAMES: Mapping[str, str] = {
    "empty text": "", "colons only": ":::", "a path": "../../x", "a NUL": "a\x00b",
    "10 000 letters": "n" * LONG, "an SQL statement": "x'; --", "__proto__": "__proto__",
    "markup": "<b>", "two lines": "a\nb", "text from right to left": "\u202eabc",
}  # fmt: skip
"""Names of servers and tools that do not exist."""

_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def _call(**members: Any) -> bytes:
    """Return the bytes of a tools/list request in which these members are replaced or added."""
    return json.dumps(_CALL | members).encode()


BODIES: Mapping[str, bytes] = {
    "an empty body": b"",
    "half an object": b'{"jsonrpc":"2.0","id":1,',
    "text that is not JSON": b"GET / HTTP/1.1",
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "a number": b"5",
    "null": b"null",
    "an empty list": b"[]",
    "a list of requests": b"[" + _call() + b"," + _call(id=2) + b"]",
    "NaN as the id": b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}',
    "brackets, 50 000 deep": b"[" * DEEP,
    "params, 50 000 deep": _call()[:-3] + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "another protocol version": _call(jsonrpc="1.0"),
    "no protocol version": json.dumps({"id": 1, "method": "tools/list"}).encode(),
    "a method that is a number": _call(method=7),
    "an unknown method": _call(method="no/such/method"),
    "__proto__ as the method": _call(method="__proto__"),
    "an id that is an object": _call(id={"a": 1}),
    "an id of 10 000 letters": _call(id="i" * LONG),
    "params that are text": _call(params="text"),
    "params that are a list": _call(params=[1, 2]),
    "a call of no tool": _call(method="tools/call"),
    "a call with arguments that are a list": _call(
        method="tools/call", params={"name": "x", "arguments": [1]}
    ),
    "an answer without a request": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "half a pair of surrogates": b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    "a member twice": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","method":"ping"}',
}
"""Bodies of a POST that are not a request, or an abnormal one."""

"""The program around a builtin: `python -I answering.py SCRIPT WAY`, one load a line of JSON.

It is run by the interpreter of the builtin's own environment and imports the standard library only.
SCRIPT defines one of two functions, and WAY says which:

- `every(asked)`: the library loads all servers at once. It returns, by server id, the names of the
  tools or the exception that the library kept for that server. What the library raises it returns
  for every server: a caller of the library is left with no tools at all.
- `one(server, asked)`: the library has no word for many servers. It returns the names of the tools
  of one; what it raises is that server's failure. The servers are loaded one after another, as a
  loop of a few lines would.

Nothing is retried, timed or hidden here. A load has ended when the library's call has: tasks that
it leaves behind are cancelled, and are left alone where that does not end them soon, as in a
program that lives on. A failure is `permanent`, since no library tells more; its text is the
exception's own `str`, or the name of its class where that is empty. What is no `Exception`, such as
a cancellation that a library lets escape, ends the program; so does what an `every` raises, for
that is a fault of its own and must not be laid to the library.
"""

import asyncio
import json
import os
import runpy
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

Asked = Mapping[str, Any]
Found = Sequence[str] | BaseException
Load = Callable[[Asked], Coroutine[Any, Any, Mapping[str, Found]]]
LEFT_S = 1.0
"""How long tasks that a library leaves behind are waited for."""


def one_by_one(one: Callable[[Asked, Asked], Awaitable[Sequence[str]]]) -> Load:
    """A loop over the servers, for a library that loads one."""

    async def every(asked: Asked) -> Mapping[str, Found]:
        found: dict[str, Found] = {}
        for server in asked["servers"]:
            try:
                found[server["server_id"]] = await one(server, asked)
            except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
                found[server["server_id"]] = error
        return found

    return every


def answered(line: str, load: Load) -> dict[str, Any]:
    """The answer to one line; what is no request for a load is an `error`."""
    number = None
    try:
        asked = json.loads(line)
        number = asked.get("id")
        if (operation := asked["op"]) != "load":
            return {"id": number, "error": f"there is no operation {operation!r}; this one loads"}
        ids = [str(server["server_id"]) for server in asked["servers"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"id": number, "error": f"{type(error).__name__}: {error}"}
    found = ended(load(asked))
    return {"id": number, "ok": {"outcomes": [outcome(one, found) for one in ids], "warnings": {}}}


def ended(load: Coroutine[Any, Any, Mapping[str, Found]]) -> Mapping[str, Found]:
    """What a load finds in an event loop of its own, which it may leave with tasks without end."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(load)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if not left or not loop.run_until_complete(asyncio.wait(left, timeout=LEFT_S))[1]:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def outcome(server_id: str, found: Mapping[str, Found]) -> dict[str, Any]:
    """An outcome as the answer tells it."""
    told = found[server_id]
    failed = isinstance(told, BaseException)
    return {
        "server_id": server_id,
        "status": "permanent" if failed else "available",
        "tools": [] if isinstance(told, BaseException) else list(told),
        "error": (str(told) or type(told).__name__) if failed else None,
        "attempts": None,
    }


def main(script: str, way: str) -> None:
    """Answer line by line until standard input ends; all that is printed goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        defined = runpy.run_path(script)
        load = defined["every"] if way == "every" else one_by_one(defined["one"])
        for line in sys.stdin:
            answers.write(json.dumps(answered(line, load)) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

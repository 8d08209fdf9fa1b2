"""The program that wraps a builtin: `python -I wrapper.py SCRIPT FUNCTION`, one load per line.

It is run by the interpreter of the builtin's own environment and imports the standard library only.
SCRIPT defines one of two functions, and FUNCTION names it:

- `every(request)`: the library loads all servers at once. It returns, by server id, the names of
  the tools or the exception that the library kept for that server. An exception of the library is
  returned for every server: a caller of the library is left with no tools at all.
- `one(server, request)`: the library has no call for many servers. It returns the names of the
  tools of one server; an exception is that server's failure. The servers are loaded one after
  another, as a loop of a few lines would.

The suite's servers have no certificates, and libraries load a system's whole store for each
connection: here they find an empty one.

This program does not retry, time or hide anything. A load has ended when the library's call has:
remaining tasks are cancelled, and are left alone if that does not end them soon, as in a program
that continues. A failure is `permanent`, since no library distinguishes more; its text is the
exception's own `str`, or the name of its class where that is empty. An exception that is not an
`Exception`, such as a cancellation that a library lets escape, ends the program; so does an
exception of `every`, which is a fault of the script and must not be blamed on the library.
"""

import asyncio
import json
import os
import runpy
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

Request = Mapping[str, Any]
Result = Sequence[str] | BaseException
Load = Callable[[Request], Coroutine[Any, Any, Mapping[str, Result]]]
HELLO = {"capabilities": ["stdio"]}
"""The declarations of every builtin: each starts servers by a command, and none classifies."""
LEFT_S = 1.0
"""Seconds to wait for tasks that a library leaves behind."""


def one_by_one(load_one: Callable[[Request, Request], Awaitable[Sequence[str]]]) -> Load:
    """Return a load of many servers that awaits `load_one(server, request)` for each in turn.

    An exception is the result of its server.
    """

    async def load_all(request: Request) -> Mapping[str, Result]:
        """Load the request's servers one after another; return {server id: tools or exception}."""
        results: dict[str, Result] = {}
        for server in request["servers"]:
            try:
                results[server["server_id"]] = await load_one(server, request)
            except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
                results[server["server_id"]] = error
        return results

    return load_all


def answered(line: str, load: Load) -> dict[str, Any]:
    """Return the answer to one line: to hello, or to a load, which is run.

    For a line that is not such a request it has the member `error`. An exception of `load` is
    raised.
    """
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        if (operation := request["op"]) == "hello":
            return {"id": number, "ok": HELLO}
        if operation != "load":
            return {"id": number, "error": f"unknown operation {json.dumps(operation)}; send load"}
        ids = [str(server["server_id"]) for server in request["servers"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"id": number, "error": f"{type(error).__name__}: {error}"}
    results = ended(load(request))
    return {
        "id": number,
        "ok": {"outcomes": [outcome(server_id, results) for server_id in ids], "warnings": {}},
    }


def ended(load: Coroutine[Any, Any, Mapping[str, Result]]) -> Mapping[str, Result]:
    """Run a load in a new event loop and return its results; cancel the tasks that it leaves.

    If these do not end in 1 s, the loop is left open. An exception of the load is raised.
    """
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


def outcome(server_id: str, results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the outcome of a server in the answer; `permanent` if its result is an exception.

    Raises KeyError if there is no result for it.
    """
    result = results[server_id]
    failed = isinstance(result, BaseException)
    return {
        "server_id": server_id,
        "status": "permanent" if failed else "available",
        "tools": [] if isinstance(result, BaseException) else list(result),
        "error": (str(result) or type(result).__name__) if failed else None,
        "attempts": None,
    }


def main(script: str, function: str) -> None:
    """Answer line by line until standard input ends; all other output goes to standard error.

    `function` of the file `script` loads: `every`, or `one` for each server in turn.
    """
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)  # it holds no certificate
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        defined = runpy.run_path(script)
        load = defined["every"] if function == "every" else one_by_one(defined["one"])
        for line in sys.stdin:
            answers.write(json.dumps(answered(line, load)) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

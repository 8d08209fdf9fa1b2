"""Child program of a stdio server: it copies bytes between its streams and a port of the suite."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

CHUNK = 1 << 16
TELLS, CHATTY, STUBBORN = "--environment", "--chatty", "--stubborn"
WRAPPED, LASTING = "--wrapped", "--lasting"
ODD = ["--particular", "", "two words", "a\"b'c\\", "$HOME", "*", "--", "ü"]
"""The arguments of a program that needs them unchanged, and its address in a variable."""
NOISE = 200_000
NEEDED, OWN = "FAULT_SERVER", "OWN_VARIABLE"


def _carry_in(sock: socket.socket, *, stays: bool) -> None:
    """Copy standard input to the suite until it ends, then shut that direction unless it `stays`.

    Errors end it.
    """
    try:
        while chunk := os.read(0, CHUNK):
            sock.sendall(chunk)
        if not stays:
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the suite hung up: the other direction sees it too


def _carry_out(sock: socket.socket) -> int:
    """Copy bytes from the suite to standard output until it hangs up; return the exit code.

    It is 1 if the suite resets the connection.
    """
    try:
        while chunk := sock.recv(CHUNK):
            left = memoryview(chunk)
            while left:
                left = left[os.write(1, left) :]
    except ConnectionResetError:
        return 1
    except OSError:
        pass  # either side hung up
    return 0


def main(arguments: list[str]) -> int:
    """Copy between standard streams and HOST:PORT until the suite hangs up; return 0.

    With `--environment`, the suite is sent the program's environment first; with `--chatty`, much
    is written to standard error; with `--lasting` it goes on at the end of its input, with
    `--stubborn` at SIGTERM too, with `--wrapped` a child of it is lasting. With `--particular` it
    wants the arguments ODD, HOST:PORT in the variable FAULT_SERVER, the PATH of its parent and one
    variable that begins with OWN_VARIABLE, and returns 4 without them. 1 if the suite resets the
    connection, 2 for a wrong command line, 3 if it does not answer; standard error says which.
    """
    if arguments[:1] == ODD[:1]:
        named = [name for name in os.environ if name.startswith(OWN)]
        if arguments != ODD or not {NEEDED, "PATH"} <= os.environ.keys() or len(named) != 1:
            sys.stderr.write(f"the arguments {ODD}, {NEEDED}, PATH and one {OWN} are needed\n")
            return 4
        arguments = ["--connect", os.environ[NEEDED]]
    if arguments[2:] == [WRAPPED]:
        again = [sys.executable, "-I", "-S", __file__, *arguments[:2], LASTING]
        return os.spawnv(os.P_WAIT, sys.executable, again)  # noqa: S606 - this program
    chatty = arguments[2:] == [CHATTY]
    stubborn, lasting = ([word] == arguments[2:] for word in (STUBBORN, LASTING))
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    del arguments[2 : 2 + chatty + stubborn + lasting]
    tells = arguments[2:] == [TELLS]
    if arguments[:1] != ["--connect"] or ":" not in arguments[-1 - tells]:
        sys.stderr.write("usage: stdio --connect HOST:PORT [--environment]\n")
        return 2
    host, _, port = arguments[1].rpartition(":")
    try:
        sock = socket.create_connection((host, int(port)), timeout=10)
    except OSError as error:
        sys.stderr.write(f"the suite does not answer at {arguments[1]}: {error}\n")
        return 3
    sock.settimeout(None)
    if tells:
        own = f"{TELLS} {dict(os.environ)!r}\n"
        sock.sendall(own.encode("utf-8", "surrogateescape"))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(NOISE // 100 if chatty else 0):
        sys.stderr.write(f"{'starting ' * 11}\n")
    sys.stderr.flush()
    threading.Thread(
        target=_carry_in, args=(sock,), kwargs={"stays": stubborn or lasting}, daemon=True
    ).start()
    return _carry_out(sock)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # the other thread may still be reading standard input

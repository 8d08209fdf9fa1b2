"""Child program of a stdio server: it copies bytes between its streams and a port of the suite."""

from __future__ import annotations

import os
import socket
import sys
import threading

CHUNK = 1 << 16


def _carry_in(sock: socket.socket) -> None:
    """Copy standard input to the suite until it ends, then shut that direction; errors end it."""
    try:
        while chunk := os.read(0, CHUNK):
            sock.sendall(chunk)
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the suite hung up: the other direction sees it too


def _carry_out(sock: socket.socket) -> None:
    """Copy bytes from the suite to standard output until it hangs up; errors end it."""
    try:
        while chunk := sock.recv(CHUNK):
            left = memoryview(chunk)
            while left:
                left = left[os.write(1, left) :]
    except OSError:
        pass  # either side hung up


def main(arguments: list[str]) -> int:
    """Copy between standard streams and HOST:PORT until the suite hangs up; return 0.

    2 for a wrong command line, 3 if the suite does not answer; standard error says which.
    """
    if len(arguments) != 2 or arguments[0] != "--connect" or ":" not in arguments[1]:  # noqa: PLR2004
        sys.stderr.write("usage: stdio --connect HOST:PORT\n")
        return 2
    host, _, port = arguments[1].rpartition(":")
    try:
        sock = socket.create_connection((host, int(port)), timeout=10)
    except OSError as error:
        sys.stderr.write(f"the suite does not answer at {arguments[1]}: {error}\n")
        return 3
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=_carry_in, args=(sock,), daemon=True).start()
    _carry_out(sock)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # the other thread may still be reading standard input

"""A deadline, and a socket whose sends and receives all count against it, even if bytes trickle."""

from __future__ import annotations

import contextlib
import select
import socket
import time


class Overdue(TimeoutError):
    """The deadline has passed; raised by Deadline and so by every wait under it."""


class Deadline:
    """A point in time on the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        """Set the deadline that many seconds from now."""
        self._began = time.monotonic()
        self._ends = self._began + seconds

    def left(self) -> float:
        """Return the seconds left, more than zero.

        Raises:
            Overdue: No time is left.
        """
        left = self._ends - time.monotonic()
        if left <= 0:
            raise Overdue("no answer in time")
        return left

    def sleep(self, seconds: float) -> None:
        """Sleep for that many seconds if the deadline allows it, else raise Overdue at once.

        Raises:
            Overdue: Not enough time is left.
        """
        if self.left() <= seconds:
            raise Overdue("no answer in time")
        time.sleep(seconds)

    def spent(self) -> float:
        """Return the seconds since the deadline was set."""
        return time.monotonic() - self._began

    def extend(self, seconds: float) -> None:
        """Move the deadline to `seconds` from now, if that is later."""
        self._ends = max(self._ends, time.monotonic() + seconds)

    def shorten(self, seconds: float) -> None:
        """Move the deadline to `seconds` from now, if that is sooner."""
        self._ends = min(self._ends, time.monotonic() + seconds)


class DeadlineSocket:
    """A connected socket under a deadline that each request resets."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        """Wrap a connected socket, of which nothing has been received."""
        self._sock = sock
        self.deadline = deadline
        self.received = 0

    def begin(self, deadline: Deadline) -> None:
        """Start a request: set its deadline, and reset the count of received bytes to 0."""
        self.deadline = deadline
        self.received = 0

    def sendall(self, data: bytes) -> None:
        """Send all the bytes; raises TimeoutError at the deadline."""
        self._sock.settimeout(self.deadline.left())
        self._sock.sendall(data)

    def recv(self, most: int) -> bytes:
        """Receive available bytes, at most `most`, and count them in `received`.

        b"" at the connection's end; TimeoutError at the deadline.
        """
        self._sock.settimeout(self.deadline.left())
        data = self._sock.recv(most)
        self.received += len(data)
        return data

    def stale(self) -> bool:
        """Whether an idle connection was closed or received bytes, without waiting."""
        if not hasattr(select, "poll"):
            return bool(select.select([self._sock], [], [], 0)[0])
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def interrupt(self) -> None:
        """Shut down both directions, which wakes a waiting thread; never raises OSError."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket; never raises OSError."""
        with contextlib.suppress(OSError):
            self._sock.close()

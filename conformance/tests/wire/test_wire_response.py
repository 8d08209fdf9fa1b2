"""`Response`: reading one HTTP response whole or in pieces; faulty heads, bodies, trailers."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from mcp_proxy_conformance.wire import response
from mcp_proxy_conformance.wire.deadline import Deadline, DeadlineSocket
from mcp_proxy_conformance.wire.response import Closed, NotHttp, Response

Pair = tuple[socket.socket, DeadlineSocket]
OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Yield (the server's socket, the client's socket), connected; the client's deadline is 5 s."""
    theirs, ours = socket.socketpair()
    with theirs, ours:
        yield theirs, DeadlineSocket(ours, Deadline(5))


def whole(incoming: Response) -> bytes:
    """Read the rest of a response's body, piece by piece, and return it."""
    return b"".join(iter(incoming.piece, b""))


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (SIZED, (200, (("Content-Length", "2"),), b"{}")),
        (SIZED.replace(b"\r\n", b"\n"), (200, (("Content-Length", "2"),), b"{}")),
        (
            b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" + SIZED,
            (200, (("Content-Length", "2"),), b"{}"),
        ),
        (
            b"HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\nHTTP/1.0 100 \r\n\r\n" + SIZED,
            (200, (("Content-Length", "2"),), b"{}"),
        ),
        (
            OK + b"X: a\r\n  b\xc3\xa0\x01\r\nContent-Length:\r\n 2\r\n\r\n{}",
            (200, (("X", "a  b\xc3\xa0\x01"), ("Content-Length", "2")), b"{}"),
        ),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n2  \r\n{}\r\n0  \r\n\r\n",
            (200, (("Transfer-Encoding", "chunked"),), b"{}"),
        ),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nLate: x\r\n\r\n",
            (200, (("Transfer-Encoding", "chunked"),), b"{}"),
        ),
        (
            OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            (200, (("Content-Length", "9"), ("Transfer-Encoding", "chunked")), b"{}"),
        ),
        (
            b"HTTP/1.1 204 \r\nX: \xe4  \r\nX:\r\n\r\n",
            (204, (("X", "\xe4"), ("X", "")), b""),
        ),
        (
            b"HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n",
            (202, (("Content-Length", "0"),), b""),
        ),
    ],
)
def test_a_whole_response_is_read(
    raw: bytes, read: tuple[object, ...], size: int, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status, header fields and body of a valid response are exact, read 1, 3 or 1000 bytes a time.

    Interim responses and trailers are left out; `keeps` is true.
    """
    monkeypatch.setattr(response, "PIECE", size)
    pair[0].sendall(raw)

    incoming = Response(pair[1])

    assert (incoming.status, incoming.headers, whole(incoming)) == read
    assert incoming.keeps


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\n\r\n",
        OK + b"Connection: close\r\n\r\n",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: identity\r\n\r\n",
    ],
)
def test_a_body_may_last_as_long_as_its_connection(head: bytes, pair: Pair) -> None:
    """A body without a length is read to the connection's end; `keeps` is false."""
    pair[0].sendall(head + b"{}")
    pair[0].shutdown(socket.SHUT_WR)

    incoming = Response(pair[1])

    assert (whole(incoming), incoming.keeps) == (b"{}", False)


@pytest.mark.parametrize("more", [b"x", SIZED, b"HTTP/1.1 200 OK\r\nX"])
def test_what_follows_a_response_is_nobodys_answer(more: bytes, pair: Pair) -> None:
    """With more bytes after a response, that response is read whole, and `keeps` is false."""
    pair[0].sendall(SIZED + more)

    incoming = Response(pair[1])

    assert (incoming.status, whole(incoming), incoming.keeps) == (200, b"{}", False)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"ello\r\n\r\n", "HTTP"),
        (OK, "inside its head"),
        (OK + b"X: " + b"x" * (70 << 10), "more than 65536 bytes"),
        (OK + b"X: x\r\n" * 102, "more than 100 header fields"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3000, "more than 65536 bytes"),
        (OK + b"Content-Length: x\r\n\r\n", "Content-Length"),
        (b"HTTP/1.1 099 \r\n\r\n", "one with the status 99"),
    ],
)
def test_what_is_no_head_is_said_to_be_none(raw: bytes, sentence: str, pair: Pair) -> None:
    """An invalid, cut or too long head raises NotHttp, whose text names the defect."""
    pair[0].sendall(raw)
    pair[0].shutdown(socket.SHUT_WR)

    with pytest.raises(NotHttp, match=sentence):
        Response(pair[1])


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (b"Content-Length: 3", "inside its body"),
        (b"Transfer-Encoding: chunked", "chunk size"),
        (b"Content-Length: 9\r\nTransfer-Encoding: gzip, chunked", "chunk size"),
    ],
)
def test_a_body_that_does_not_end_is_no_whole_response(
    head: bytes, sentence: str, pair: Pair
) -> None:
    """A body that ends too early, or has an invalid chunk size, raises NotHttp on reading it."""
    pair[0].sendall(OK + head + b"\r\n\r\n{}")
    pair[0].shutdown(socket.SHUT_WR)

    with pytest.raises(NotHttp, match=sentence):
        whole(Response(pair[1]))


@pytest.mark.parametrize("more", [b"0\r\nA: ", b"0\r\n", b"5;", b""])
def test_what_is_beside_a_body_has_an_end(more: bytes, pair: Pair) -> None:
    """A trailer, chunk extension or chunk size without end raises NotHttp beyond 64 KiB.

    The piece of the body before it is returned first.
    """
    pair[0].sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + more)
    incoming = Response(pair[1])
    first = incoming.piece()

    pair[0].sendall(b"0" * (66 << 10))

    assert first == b"{}"
    with pytest.raises(NotHttp, match="more than 65536 bytes around its body"):
        incoming.piece()


def test_what_came_before_a_fault_is_read(pair: Pair) -> None:
    """The piece before a bad chunk is returned, then NotHttp is raised; `keeps` is false."""
    pair[0].sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n")
    incoming = Response(pair[1])

    first = incoming.piece()

    assert (first, incoming.keeps) == (b"{}", False)
    with pytest.raises(NotHttp, match="chunk size"):
        incoming.piece()


@pytest.mark.parametrize(
    ("raw", "sentence"), [(b"ello\r\n\r\n", "HTTP"), (OK + b"X: x\r\n" * 102 + b"\r\n", "fields")]
)
def test_a_fault_is_raised_as_itself_while_another_is_handled(
    raw: bytes, sentence: str, pair: Pair
) -> None:
    """A bad head read while another exception is handled raises NotHttp, not the other."""
    pair[0].sendall(raw)

    try:
        socket.inet_aton("another")
    except OSError:
        with pytest.raises(NotHttp, match=sentence):
            Response(pair[1])


def test_a_connection_that_ends_without_a_byte_was_closed(pair: Pair) -> None:
    """A connection that ends without any byte raises Closed."""
    pair[0].shutdown(socket.SHUT_WR)

    with pytest.raises(Closed):
        Response(pair[1])


def test_an_interruption_is_not_taken_for_a_fault(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KeyboardInterrupt in the parser's callback for a header is raised as itself."""

    def interrupted(*_: object) -> None:
        """Raise KeyboardInterrupt, whatever the arguments."""
        raise KeyboardInterrupt

    monkeypatch.setattr(Response, "on_header", interrupted)
    pair[0].sendall(SIZED)

    with pytest.raises(KeyboardInterrupt):
        Response(pair[1])

"""Sockets to a URL: direct or by an HTTP proxy, with TLS or not; redirects within its origin."""

from __future__ import annotations

import base64
import socket
import ssl
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from mcp_proxy_conformance.wire.deadline import DeadlineSocket
from mcp_proxy_conformance.wire.response import NotHttp, Response

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proxy_conformance.wire.deadline import Deadline

PORTS = {"http": 80, "https": 443}
MOVED = (301, 302, 307, 308)
"""Statuses of a redirect that may be followed with the same request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy, and the credentials that it requires; empty if none."""

    host: str
    port: int
    authorization: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialing:
    """How connections are made: which certificates, proxy and redirects; by default direct, none.

    `insecure` accepts any certificate; `ca` is a file of certificates to trust instead of the
    system's; `proxied` uses the proxy of `http_proxy`, `https_proxy` and `no_proxy`; `redirects` is
    the most redirects that are followed in a row, within the origin.
    """

    insecure: bool = False
    ca: Path | None = None
    proxied: bool = False
    redirects: int = 0

    def proxy(self, url: str) -> Proxy | None:
        """Return the environment's proxy for a URL's scheme; None if it is to be reached directly.

        That is so without `proxied`, for a host that `no_proxy` names, and if no proxy is set.
        Credentials become a Basic header.

        Raises:
            ValueError: The environment's proxy is not a URL.
        """
        parts = urlsplit(url)
        if not self.proxied or urllib.request.proxy_bypass(parts.hostname or ""):
            return None
        named = urllib.request.getproxies().get(parts.scheme)
        if not named:
            return None
        place = urlsplit(named if "://" in named else f"http://{named}")
        if not place.hostname:
            raise ValueError(
                f"the environment's {parts.scheme}_proxy is not a URL; correct or unset it"
            )
        userinfo, at, _ = place.netloc.rpartition("@")
        encoded = base64.b64encode(unquote(userinfo).encode()).decode() if at else ""
        authorization = f"Basic {encoded}" if encoded else ""
        return Proxy(host=place.hostname, port=place.port or 80, authorization=authorization)

    def connect(self, url: str, proxy: Proxy | None, deadline: Deadline) -> socket.socket:
        """Return a socket to the URL's host, through the proxy if given, with TLS for https.

        For http through a proxy, it is the connection to the proxy itself; for https the proxy
        tunnels.

        Raises:
            OSError: The connection cannot be made, in time or at all.
        """
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        place = (host, port) if proxy is None else (proxy.host, proxy.port)
        sock = socket.create_connection(place, timeout=deadline.left())
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if parts.scheme == "https":
                if proxy is not None:
                    _tunnel(sock, host, port, proxy, deadline)
                sock = self._context().wrap_socket(sock, server_hostname=host)
        except BaseException:
            sock.close()
            raise
        return sock

    def _context(self) -> ssl.SSLContext:
        """Return the TLS settings: trust certificates of `ca`, else the system's.

        With `insecure` every certificate is accepted.
        """
        context = ssl.create_default_context(cafile=self.ca)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


DIRECT = Dialing()


def within_origin(url: str, status: int, location: str | None) -> str | None:
    """Return the URL that a redirect leads to, if it stays at the origin of `url`, else None.

    Redirects are the statuses 301, 302, 307 and 308; `location` may be relative. The fragment is
    dropped. None also for a location that is missing or not plain ASCII.
    """
    if status not in MOVED or location is None:
        return None
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, location))
        same = origin(url) == origin(there.geturl())
    except ValueError:
        return None
    if not same or not there.geturl().isascii() or not there.geturl().isprintable():
        return None
    return there._replace(netloc=here.netloc, fragment="").geturl().replace(" ", "%20")


def origin(url: str) -> tuple[str, str, int]:
    """Return (scheme, host, port) of a URL.

    Without a port it is the default of http or https, 0 for other schemes. ValueError for an
    invalid URL.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)


def _tunnel(sock: socket.socket, host: str, port: int, proxy: Proxy, deadline: Deadline) -> None:
    """Have the proxy forward bytes to that host (CONNECT), with its credentials.

    Raises OSError if it refuses, does not answer in HTTP, or is late.
    """
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.authorization:
        head.append(f"Proxy-Authorization: {proxy.authorization}")
    reader = DeadlineSocket(sock, deadline)
    reader.sendall("\r\n".join([*head, "", ""]).encode("latin-1"))
    try:
        status = Response(reader).status
    except NotHttp as error:
        raise ConnectionError(f"the proxy sent no whole HTTP response, but {error}") from None
    if status != HTTPStatus.OK:
        raise ConnectionError(f"the proxy refuses to connect (HTTP {status})")

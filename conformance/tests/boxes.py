"""`boxes.py run|port|rm …`: as much of docker as one adapter needs, made of Linux namespaces.

A box has its own network and mounts: 127.0.0.1 in it is not the host's, which it reaches over a
bridge as host.docker.internal, and its port 8080 is mapped to a port of the host's loopback. The
folder of all boxes is $BOXES, the image's entry point $ENTRYPOINT. To be run as root of a network,
mount and process namespace in which `bridge` has run; when that ends, all boxes do.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HOST = "172.17.0.1"
BOXES = Path(os.environ["BOXES"])
INSIDE = """
until ip link show "c$N" >/dev/null 2>&1; do sleep 0.02; done
ip address add "172.17.0.$N/16" dev "c$N"; ip link set "c$N" up; ip link set lo up
mount -t tmpfs tmpfs /mnt
for place in /*; do
  if test -L "$place"; then cp -P "$place" /mnt/
  elif test "$place" != /mnt && test -d "$place"; then
    mkdir "/mnt$place"; mount --rbind "$place" "/mnt$place"
  fi
done
mkdir "/mnt$INNER"; mount --bind "$OUTER" "/mnt$INNER"
mount --bind "$BOXES/hosts" /mnt/etc/hosts
exec chroot /mnt "$@"
"""


def bridge(*command: str) -> None:
    """Make the host's network with its bridge, then replace this process by the command."""
    for words in (
        "link set lo up",
        "link add docker0 type bridge",
        f"address add {HOST}/16 dev docker0",
        "link set docker0 up",
    ):
        _ip(words)
    os.execvp(command[0], command)  # noqa: S606 - the test's own command


def run(*words: str) -> str:
    """Start a box with the options of `docker run` and return its number as its name.

    Waits until it has a network and its port is mapped; AssertionError for options but the known
    ones.
    """
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    rest = [word for word in words[1:] if word not in _options(words)]
    number = next(n for n in range(2, 250) if _taken(n))
    name, _, gateway = options["add-host"].partition(":")
    assert (options["publish"], gateway, rest[0]) == ("127.0.0.1::8080", "host-gateway", "proxy")
    (BOXES / "hosts").write_text(f"127.0.0.1 localhost\n{HOST} {name}\n", encoding="utf-8")
    outer, _, inner = options["volume"].partition(":")
    command = [*shlex.split(os.environ["ENTRYPOINT"]), *rest[1:]]
    box = _spawned(
        ["unshare", "--net", "--mount", "sh", "-euc", INSIDE, "box", *command],
        N=str(number), OUTER=outer, INNER=inner,
    )  # fmt: skip
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{box}/ns/net").readlink() == own:
        time.sleep(0.01)
    _ip(f"link add v{number} type veth peer name c{number}")
    _ip(f"link set v{number} master docker0 up")
    _ip(f"link set c{number} netns {box}")
    port_file = BOXES / f"{number}.port"
    relayed = ["relay", "127.0.0.1:0", f"172.17.0.{number}:8080", str(port_file)]
    mapped = _spawned([sys.executable, __file__, *relayed])
    while not port_file.exists():
        time.sleep(0.01)
    (BOXES / f"{number}.json").write_text(json.dumps([box, mapped]), encoding="utf-8")
    return str(number)


def port(name: str, inner: str) -> str:
    """Return the host's address, `127.0.0.1:PORT`, to which port 8080 of the box is mapped.

    `name` is the box's number; `inner` must be `8080/tcp`.
    """
    assert inner == "8080/tcp"
    return f"127.0.0.1:{(BOXES / f'{name}.port').read_text(encoding='utf-8')}"


def rm(force: str, name: str) -> str:
    """Kill a box and the relay of its port, with their process groups; return its name.

    `force` must be `--force`; `name` is the box's number.
    """
    assert force == "--force"
    for pid in json.loads((BOXES / f"{name}.json").read_bytes()):
        os.killpg(pid, signal.SIGKILL)
    return name


async def relay(bind: str, address: str, port_file: str = "") -> None:
    """Relay each connection to `bind` to `address` and back, for ever; both are HOST:PORT.

    The port that was bound is written to the file `port_file` if one is named.
    """
    host, _, number = address.partition(":")

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy all bytes from `reader` to `writer` until they end, then close the writer."""
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the address for a new connection, relay both directions, and close it."""
        try:
            inner, to_inner = await asyncio.open_connection(host, int(number))
            both = hand_on(reader, to_inner), hand_on(inner, writer)
            await asyncio.gather(*both, return_exceptions=True)
        finally:
            writer.close()

    own, _, free = bind.partition(":")
    server = await asyncio.start_server(accept, own, int(free))
    if port_file:
        _write_port(Path(port_file), server.sockets[0].getsockname()[1])
    await server.serve_forever()


def proxy(*words: str) -> None:
    """Run the image's entry point with these words: the reference, moved to 127.0.0.1:8081.

    Its port is relayed from 8080 on all addresses of the box, for ever.
    """
    listens = [word.replace("0.0.0.0:8080", "127.0.0.1:8081") for word in words]
    _spawned([sys.executable, "-m", "mcp_proxy_reference", *listens])
    asyncio.run(relay("0.0.0.0:8080", "127.0.0.1:8081"))


def _write_port(place: Path, number: int) -> None:
    """Write the port `number` to the file `place` in one step; no reader sees half of it."""
    fresh = place.with_suffix(".new")
    fresh.write_text(str(number), encoding="utf-8")
    fresh.replace(place)


def _options(words: tuple[str, ...]) -> set[str]:
    """Return the words before the image's name, `proxy`."""
    image = words.index("proxy")
    return set(words[:image])


def _taken(number: int) -> bool:
    """Reserve the number of a box by creating a file; return whether it was free."""
    try:
        (BOXES / f"{number}.box").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _spawned(command: list[str], **environment: str) -> int:
    """Start a process that outlives this one, its output appended to a log; return its id."""
    with (BOXES / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ).pid


def _ip(words: str) -> None:
    """Run `ip` with these words; raises CalledProcessError if it fails."""
    subprocess.run(["ip", *words.split()], check=True)


if __name__ == "__main__":
    doing, *operands = sys.argv[1:]
    if doing in ("bridge", "proxy"):
        {"bridge": bridge, "proxy": proxy}[doing](*operands)
    elif doing == "relay":
        asyncio.run(relay(*operands))
    else:
        docker: dict[str, Callable[..., str]] = {"run": run, "port": port, "rm": rm}
        sys.stdout.write(docker[doing](*operands) + "\n")

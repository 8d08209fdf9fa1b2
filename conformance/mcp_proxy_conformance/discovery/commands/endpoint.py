"""`run endpoint`: judge a live endpoint by its answers, without setting anything up."""

from __future__ import annotations

import json
import shlex
import ssl
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import click

from mcp_proxy_conformance.catalogue.surface import Surface, ToolTemplate
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.installed_checks import ran, request_for
from mcp_proxy_conformance.cli.options import DEFAULTS, Finite, live_options
from mcp_proxy_conformance.cli.printed_report import detail_of, print_report
from mcp_proxy_conformance.cli.run_setup import alone, softened
from mcp_proxy_conformance.discovery.live.endpoint import (
    BadEndpoint,
    Endpoint,
    agents_of,
    headers_of,
    place_named,
    read_locks,
    tool_key,
)
from mcp_proxy_conformance.discovery.live.plan import plan
from mcp_proxy_conformance.discovery.profiles import LIVE
from mcp_proxy_conformance.discovery.surface_names import cut
from mcp_proxy_conformance.discovery.targets.kinds import knowledge_in
from mcp_proxy_conformance.report.terminal import ending
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.outcome import DECLARATION
from mcp_proxy_conformance.verdict.redaction import Redactor, inert
from mcp_proxy_conformance.wire.connection import Dialing

LONGEST = 1200
JUDGING_S = 8
"""Seconds to judge the answers, after the last request."""
ONE_BUDGET = ("processes", "shard")
TAKEN = (
    "out", "timeout", "check", "only", "fail_fast", "quiet", "verbose", "profile", "target_file",
    "deviations", "fail_on",
)  # fmt: skip
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "run endpoint --url http://127.0.0.1:8080/mcp --query repos",
        "run endpoint --stdio 'my-proxy serve --stdio' --expect locks.toml",
    )
)
@click.option("--url", help="The endpoint, e.g. http://127.0.0.1:8080/mcp")
@click.option(
    "--stdio", metavar="CMD", help="Command line of a program that serves MCP over stdio."
)
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header for each request.")
@click.option(
    "--as", "agents", multiple=True, metavar="NAME='HEADER: VALUE'",
    help="A narrower credential, which must not see more than the main one.",
)  # fmt: skip
@click.option("--query", multiple=True, metavar="WORD", help="A query to send before all others.")
@click.option(
    "--expect", type=_FILE, help='Expected locks: "SERVER:TOOL" = "disabled_by_config", …'
)
@click.option(
    "--call", multiple=True, metavar="SERVER:TOOL", help="Call this tool if it is listed as locked."
)
@click.option("--tool", metavar="NAME", help="The discovery tool.  [default: retrieve_tools]")
@click.option(
    "--query-argument", metavar="NAME",
    help="Its argument that takes the query.  [default: query, or its only argument for a text]",
)  # fmt: skip
@click.option("--listing", metavar="TOOL[=JSON]", help="The tool that lists servers.")
@click.option(
    "--inspect", metavar="TOOL=JSON", help="The tool that shows one server, {server} in JSON."
)
@click.option(
    "--max-requests",
    type=click.IntRange(4, 10_000),
    default=300,
    show_default=True,
    help="Maximum number of requests.",
)
@click.option(
    "--rate",
    type=Finite(1, 10_000),
    default=20.0,
    show_default=True,
    help="Maximum requests per second.",
)
@click.option(
    "--answer-timeout",
    type=Finite(0.1, 600),
    default=10.0,
    show_default=True,
    help="Seconds to wait for one answer.",
)
@click.option(
    "--wire",
    type=click.Choice(["auto", "handshake", "stateless", "sse"]),
    default="auto",
    show_default=True,
    help="Revisions of MCP to use: with a handshake, or stateless; auto tries both. sse is the"
    " HTTP+SSE transport of 2024-11-05; --url is then that of the stream.",
)
@click.option("--insecure", is_flag=True, help="Accept any certificate.")
@click.option("--ca", type=_FILE, help="Certificates to trust instead of the system's.")
@click.option("--use-proxy", is_flag=True, help="Obey $http_proxy and $https_proxy.")
@live_options
@click.pass_obj
def endpoint(outer: dict[str, Any], /, **inner: Any) -> None:
    """Judge what a live endpoint says about locked tools.

    Nothing is set up or locked: the suite reads tools/list and calls only the discovery tool, the
    tools that --listing and --inspect name, and those that --call names if they are listed as
    locked. The plan is printed before the first request. Exit 0 means that nothing observed
    contradicts the profile, not that the target conforms.
    """
    _refuse(outer | {name: inner[name] for name in ONE_BUDGET if inner[name] is not None})
    options = {n: inner.get(n) if inner.get(n) is not None else outer.get(n) for n in TAKEN}
    url, words = inner["url"] or "", _words(inner["stdio"])
    lines = [agent.partition("=")[2] for agent in inner["agents"]]
    raw = [{"": line} for line in (*inner["header"], *inner["agents"], *lines)]
    raw += [{"": line.partition(":")[2].strip()} for line in (*inner["header"], *lines)]
    secrets = frozenset(credentials(words=words, url=url, headers=raw))
    redactor = Redactor(secrets)
    try:
        within_s = options["timeout"] or DEFAULTS["timeout"]
        target = _endpoint(inner, words, within_s, secrets, options["target_file"])
        code = judge_live(target, {n: v for n, v in options.items() if v is not None})
    except (BadEndpoint, BadTarget) as error:
        click.echo(redactor.text(" ".join(inert(str(error)).split())), err=True)
        code = DECLARATION
    sys.exit(code)


def _refuse(outer: dict[str, Any]) -> None:
    """Exit with 2, and say which, if an option is set that does not apply to an endpoint.

    -n and --shard come first.
    """
    needless = sorted(n for n, value in outer.items() if value is not None and n not in TAKEN)
    if set(needless) & set(ONE_BUDGET):
        click.echo(
            "`run endpoint` has one budget and one rate of requests; leave -n and --shard out",
            err=True,
        )
        sys.exit(DECLARATION)
    if needless:
        word = needless[0].removesuffix("_s").replace("upstreams_", "upstream_").replace("_", "-")
        stop(f"`run endpoint` starts no target and takes no --{word}; leave it out")


def _words(command: str | None) -> tuple[str, ...]:
    """Split a command line into words as a shell does; exit with 2 if that fails.

    () for None.
    """
    try:
        return tuple(shlex.split(command or ""))
    except ValueError as error:
        stop(f"--stdio cannot be read: {error}; quote its words as for a shell")


def _endpoint(
    inner: dict[str, Any],
    words: tuple[str, ...],
    within_s: float,
    secrets: frozenset[str],
    file: Path | None,
) -> Endpoint:
    """Return the Endpoint that the options `inner` describe, completed by the target file.

    `words` is the command line of --stdio, split; `within_s` the time limit of the run in seconds;
    `secrets` are credentials to hide. Raises BadEndpoint for options that contradict each other or
    are unusable, BadTarget for the file.
    """
    if bool(inner["url"]) == bool(words):
        raise BadEndpoint(
            "`run endpoint` judges one endpoint; give either --url URL or --stdio CMD"
        )
    url, own = place_named(inner["url"]) if inner["url"] else ("", {})
    known = knowledge_in(file)
    headers = own | headers_of(inner["header"], "--header")
    agents = agents_of(inner["agents"])
    if words and (headers or agents):
        raise BadEndpoint("--header and --as do not apply to --stdio; leave them out")
    ca = inner["ca"]
    try:
        ssl.create_default_context(cafile=ca)
    except OSError as error:
        why = f"--ca {ca} cannot be used: {error.strerror or error}"
        raise BadEndpoint(f"{why}; name a file of certificates") from None
    return Endpoint(
        url=url,
        stdio=words,
        headers=headers,
        agents=agents,
        surface=_surface(known.surface, inner),
        listing=known.is_described or inner["listing"] is not None,
        calls=known.is_described,
        pins=known.pins,
        name=known.name,
        version=known.version,
        file=file,
        queries=inner["query"],
        expect=read_locks(inner["expect"]) if inner["expect"] is not None else {},
        call=tuple(tool_key(name, "--call") for name in inner["call"]),
        max_requests=inner["max_requests"],
        rate=inner["rate"],
        within_s=within_s,
        answer_s=inner["answer_timeout"],
        wire=cast("Literal['auto', 'handshake', 'stateless', 'sse']", inner["wire"]),
        dialing=Dialing(insecure=inner["insecure"], ca=ca, proxied=inner["use_proxy"], redirects=3),
        secrets=secrets | frozenset(credentials(headers=[headers, *agents.values()])),
    )


def _surface(surface: Surface, inner: dict[str, Any]) -> Surface:
    """Return the surface, with names that the options give in the place of its own.

    Raises BadEndpoint for an unusable --listing or --inspect.
    """
    names: dict[str, Any] = {}
    if inner["tool"] is not None:
        names["discovery_tool"] = inner["tool"]
    if inner["query_argument"] is not None:
        names["query"] = inner["query_argument"]
    for option in ("listing", "inspect"):
        if inner[option] is not None:
            names[option] = _template(inner[option], option)
    fields = {name: getattr(surface, name) for name in surface.__struct_fields__}
    return Surface(**(fields | names))


def _template(text: str, option: str) -> ToolTemplate:
    """Return a template of `TOOL=JSON`, or of `TOOL` without arguments; else raise BadEndpoint.

    `option` is named in that error.
    """
    tool, _, arguments = text.partition("=")
    try:
        read = json.loads(arguments or "{}")
    except ValueError:
        read = None
    if not tool.strip() or not isinstance(read, dict):
        example = '\'upstream_servers={"operation":"list"}\''
        raise BadEndpoint(f"--{option} {text!r} is not a tool with arguments; write e.g. {example}")
    return ToolTemplate(tool=tool.strip(), arguments=read)


def judge_live(endpoint: Endpoint, options: dict[str, Any]) -> int:
    """Print the plan for an endpoint, run its checks, print the outcome; return the exit code.

    Options that are not in `options` have their defaults. Raises BadEndpoint or BadTarget.
    """
    options = DEFAULTS | {"profile": LIVE} | options
    return alone(options, partial(_judged_live, endpoint, options))


def _judged_live(
    endpoint: Endpoint,
    options: dict[str, Any],
    out: Path,
    log: Path,
    deviations: tuple[Deviation, ...],
) -> int:
    """Run the live checks with the report in `out`, print the outcome; return the exit code.

    If no more than the presence of the feature was judged, only the reason is printed. Raises
    BadEndpoint for another profile.
    """
    if options["profile"].partition("@")[0] != LIVE:
        raise BadEndpoint(f"`run endpoint` judges by the profile {LIVE}; leave --profile out")
    redactor = Redactor(endpoint.secrets)
    detail = detail_of(options)
    for line in plan(endpoint) if detail != "quiet" else ():
        click.echo(redactor.text(inert(line)), err=True)
    request = request_for(endpoint, options, out, deviations, redactor)
    within_s = endpoint.within_s + JUDGING_S
    document = ran(replace(request, within_s=within_s), log, redactor, detail)
    if isinstance(document, int):
        return document
    if detail != "quiet":
        used = document.timing["requests"]
        click.echo(f"{used} of {endpoint.max_requests} requests were used", err=True)
    code = softened(document, options["fail_on"])
    if all(result.check == "presence" for result in document.results):
        reason = cut(" ".join(inert(document.why).split()), LONGEST)
        click.echo(
            redactor.text(
                reason if code == document.exit else f"{reason}; {ending(document, code)}"
            )
        )
    else:
        print_report(document, out / "report.json", detail=detail, code=code, hidden=redactor.text)
    return code

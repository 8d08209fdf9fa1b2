"""The target file: as `init` writes it, merged with options, or refused; its templates."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.surface import STATUSES, Surface, ToolTemplate
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.answer import CAPABILITY
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.proxy_description import ProxyDescription
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.targets.description import (
    FILE,
    BadTarget,
    describe,
    kind_of,
    kinds,
)

CHECK = "test_the_cap_holds_on_every_endpoint"


def described(
    tmp_path: Path,
    text: str,
    options: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> Any:
    """Write a target file of that text, and return its description.

    `options` and `environment` override members of the file.
    """
    file = tmp_path / FILE
    file.write_text(text, encoding="utf-8")
    return describe(kind=None, file=file, given=options or {}, environment=environment or {})


def schema() -> dict[str, Any]:
    """Return the JSON schema of target files."""
    return dict(json.loads((schemas_dir() / "target.schema.json").read_text(encoding="utf-8")))


def test_what_init_writes_is_valid_and_says_the_defaults(tmp_path: Path) -> None:
    """The file that `init` writes fits the schema of target files and shows the true defaults.

    A second `init` to the same path exits with 2.
    """
    done = CliRunner().invoke(main, ["init", str(tmp_path / FILE)])
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    again = CliRunner().invoke(main, ["init", str(tmp_path / FILE)])

    members = tomllib.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(members, schema(), cls=jsonschema.Draft202012Validator)
    uncommented = [
        line.replace("# ", "", 1) if "_s = " in line else line for line in text.split("\n")
    ]
    seconds = {m: v for m, v in tomllib.loads("\n".join(uncommented)).items() if m.endswith("_s")}
    own = target_of(ProxyDescription(kind="command", command=("x",)))
    assert described(tmp_path, text).surface == Surface()
    assert seconds == {name: getattr(own, name) for name in seconds} != {}
    assert (done.exit_code, again.exit_code) == (0, 2)
    assert "exists" in again.output


def test_the_schema_and_the_types_name_the_same_members() -> None:
    """Schema and Python types of target files have the same members, capabilities and statuses.

    Each status but `disabled_unknown` has a capability.
    """
    document = schema()
    surface = document["properties"]["surface"]["properties"]

    members = {kind: {*kind_of(kind).__struct_fields__} for kind in kinds()}
    validator = jsonschema.Draft202012Validator(document)
    assert set(document["properties"]) == set().union(*members.values())
    assert members == {
        kind: {
            name
            for name in document["properties"]
            if "False schema" not in str([*validator.iter_errors({"kind": kind, name: 0})])
        }
        for kind in members
    }
    assert set(surface) == set(Surface.__struct_fields__)
    assert set(document["$defs"]["template"]["properties"]) == set(ToolTemplate.__struct_fields__)
    assert set(document["properties"]["capabilities"]["items"]["enum"]) == {
        *CAPABILITIES,
        *OF_LOADERS,
    }
    assert set(document["properties"]["pins"]["propertyNames"]["enum"]) == set(STATUSES)
    assert set(CAPABILITY) == set(STATUSES) - {"disabled_unknown"}


def test_options_come_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    """A member's value is that of the option, else of the environment, else of the file.

    In the environment, a list is split at commas.
    """
    text = 'kind = "mcpproxy"\nbinary = "a"\nsettle_s = 1.5\n[upstreams]\nhost = "one"\n'
    words = {
        "MCP_PROXY_CONFORMANCE_SETTLE_S": "2.5",
        "MCP_PROXY_CONFORMANCE_UPSTREAMS_HOST": "two",
        "MCP_PROXY_CONFORMANCE_CAPABILITIES": "config, user",
    }

    file = described(tmp_path, text)
    environment = described(tmp_path, text, None, words)
    option = described(tmp_path, text, {"settle_s": 3.5, "binary": "c"}, words)

    assert (file.settle_s, file.upstreams.host, file.binary) == (1.5, "one", "a")
    assert (environment.settle_s, environment.upstreams.host) == (2.5, "two")
    assert environment.capabilities == ("config", "user")
    assert (option.settle_s, option.upstreams.host, option.binary) == (3.5, "two", "c")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('kind = "comand"', "no target kind 'comand'; did you mean 'command'?"),
        ('setle_s = 1\ncommand = ["x"]', "unknown member 'setle_s'; did you mean 'settle_s'?"),
        ('[surface.members]\nnotes = "n"', "member 'surface.members.notes'; did you mean 'note'?"),
        ('[[surface.calls]]\ntol = "x"', "did you mean 'tool'?"),
        ("[zzz]\n", "unknown member 'zzz'; known: kind, name,"),
        ("settle_s = -1", "`settle_s`"),
        ('settle_s = "1"', "`settle_s`"),
        ('command = "x"', "`command`"),
        ("kind = ", "is not a TOML file"),
        ('install = {pip = ["x"]}', "write `command = [...]` too"),
        (
            'command = ["x"]\ninstall = {gem = ["x"]}',
            "Invalid enum value 'gem' - at `key` in `$.install`",
        ),
        ('command = ["x"]\ninstall = {pip = ["x"], npm = ["x"]}', "at `install`"),
        ('kind = "command"', "needs the adapter's command line"),
        ('kind = "mcpproxy"', "run mcpproxy --binary PATH"),
        ('command = ["relay", "{port}", "{upstream_url}"]', 'write kind = "relay" beside it'),
        ('command = ["x"]\ncapabilities = ["agent"]', "did you mean 'agents'?"),
        ('command = ["x"]\n[pins]\nuser = ["x"]', "pins.user is not a status"),
        ('command = ["x"]\n[surface]\ncalls = []', "surface.calls is empty"),
        ('command = ["x"]\n[[surface.calls]]\ntool = "call"', "surface.calls[0] has no {tool}"),
        ('command = ["x"]\n[surface]\nendpoints = ["/a", "/b"]', "declare the capability"),
        (
            'command = ["x"]\ncapabilities = ["direct_endpoints"]\n[surface]',
            "take the capability out",
        ),
        ('command = ["x"]\ncapabilities = ["inspect"]\n[surface]', "go together"),
        ('command = ["x"]\ncapabilities = ["inspect"]', "go together"),
        ('command = ["x"]\ncapabilities = ["direct_endpoints"]', "take the capability out"),
        ('command = ["x"]\n[surface]\nendpoints = []', "surface.endpoints is empty"),
        ('command = ["x"]\n[surface]\nendpoints = ["/a b"]', "surface.endpoints[0] is '/a b'"),
        ('command = ["a\\u0000b"]', "command contains a NUL"),
        ('kind = "mcpproxy"\nbinary = "a\\u0000b"', "binary contains a NUL"),
        ("x = " + "[" * 5000 + "]" * 5000, "nests deeper than 30 levels"),
        (f"x{'.x' * 500} = 1", "nests deeper than 30 levels"),
        (f"x{'.x' * 5000} = 1", "the key on line 1 has more than 1000 parts"),
        ('command = ["x"]\nsettle_s = nan', "`settle_s`"),
        ('command = ["x"]\nsettle_s = inf', "`settle_s`"),
        (
            'command = ["x"]\n[pins]\ndisabled_by_user = ["T"]\ndisabled_by_config = ["T"]',
            "pins.disabled_by_config and pins.disabled_by_user both contain 'T'",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_place_and_the_repair(
    tmp_path: Path, text: str, complaint: str
) -> None:
    """A faulty target file raises BadTarget with one line; `run --target-file` exits with 2."""
    with pytest.raises(BadTarget) as error:
        described(tmp_path, text)
    file = str(tmp_path / FILE)
    done = CliRunner().invoke(main, ["run", "--target-file", file, "--out", str(tmp_path / "out")])

    assert complaint in str(error.value)
    assert "\n" not in str(error.value)
    assert done.exit_code == 2


def test_seconds_that_are_no_number_are_refused_from_the_environment(tmp_path: Path) -> None:
    """`nan` or `inf` as seconds in the environment raise BadTarget, which names the member."""
    for word in ("nan", "inf"):
        with pytest.raises(BadTarget, match="`settle_s`"):
            described(tmp_path, 'command = ["x"]', None, {"MCP_PROXY_CONFORMANCE_SETTLE_S": word})


def test_an_unbalanced_quote_in_the_environment_is_refused(tmp_path: Path) -> None:
    """A command with an open quote in the environment raises BadTarget that names the variable."""
    words = {"MCP_PROXY_CONFORMANCE_COMMAND": "python 'a"}

    with pytest.raises(BadTarget, match=r"^MCP_PROXY_CONFORMANCE_COMMAND is .* quote its words"):
        described(tmp_path, "", None, words)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "mcpproxy"], "run mcpproxy --binary PATH"),
        (["run", "mcpproxy", "--binary", "/no/such/proxy"], "/no/such/proxy does not exist"),
        (["run", "mcpproxy", "--binary", FILE], f"{FILE} is not executable"),
        (["run", "command"], "write `run command -- PROGRAM ARGUMENTS`"),
        (["run", "--target-file", "no.toml"], "cannot read"),
        (["run", "reference", "--target-file", FILE], "name one kind"),
        (["run", "--settle", "2", "reference", "--capabilities", "usr"], "did you mean 'user'?"),
    ],
)
def test_bad_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
) -> None:
    """Unusable options of `run` exit with 2, and the last line of the output names the repair."""
    monkeypatch.chdir(tmp_path)
    if FILE in arguments:
        (tmp_path / FILE).write_text('kind = "mcpproxy"\nbinary = "x"\n', encoding="utf-8")

    done = CliRunner().invoke(main, arguments)

    assert done.exit_code == 2
    assert complaint in done.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("members", "target"),
    [
        ("", ("mcp-proxy-reference", "1.0.0")),
        ('name = "mine"\n', ("mine", "1.0.0")),
        ('name = "mine"\nversion = "4.5"\n', ("mine", "4.5")),
    ],
)
def test_a_target_is_named_by_its_file_or_by_itself(
    tmp_path: Path, members: str, target: tuple[str, str]
) -> None:
    """Report and output have the target file's name and version, else those of the handshake.

    The output has the kind, too.
    """
    command = json.dumps([sys.executable, "-m", "mcp_proxy_reference.adapter"])
    file, out = tmp_path / FILE, tmp_path / "out"
    file.write_text(f"command = {command}\n{members}", encoding="utf-8")

    words = ["run", "--target-file", str(file), "--check", CHECK, "--out", str(out)]
    done = CliRunner().invoke(main, words)

    named = json.loads((out / "report.json").read_bytes())["target"]
    assert done.exit_code == 0, done.output
    assert (named["kind"], named["name"], named["version"]) == ("command", *target)
    assert f"{' '.join(target)} (command)" in done.output


def test_holes_are_filled_anywhere() -> None:
    """`filled` fills {server}, {tool} and {arguments} in names, texts, objects and lists.

    `names_the_tool` is false for a template without the tool's name.
    """
    key, arguments = ToolKey("forge", "list_repos"), {"a": "'b'"}
    direct = ToolTemplate(tool="{server}__{tool}", arguments="{arguments:object}")
    code = ToolTemplate(tool="run", arguments={"js": "call('{server}','{tool}',{arguments})"})
    nested = ToolTemplate(tool="call", arguments={"to": ["{tool}"], "in": "{arguments:object}"})

    assert direct.filled(key, arguments) == ("forge__list_repos", arguments)
    assert code.filled(key, arguments)[1] == {"js": "call('forge','list_repos',{\"a\":\"'b'\"})"}
    assert nested.filled(key, arguments)[1] == {"to": ["list_repos"], "in": arguments}
    assert all(template.names_the_tool for template in (direct, code, nested))
    assert not ToolTemplate(tool="call", arguments={"server": "{server}"}).names_the_tool

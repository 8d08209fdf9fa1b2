"""`Job`, an action's shell steps run as a CI's runner does; readers of outputs and commands."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mcp_proxy_conformance.cli.run_setup import PROCESSES

TOP = Path(__file__).parents[2]
ACTION = TOP / ".github" / "actions" / "conformance" / "action.yml"
_EXPRESSION = re.compile(r"\$\{\{ *([a-z.-]+) *\}\}")


def action() -> dict[str, Any]:
    """Return the description of the GitHub action, action.yml, as data."""
    return dict(yaml.safe_load(ACTION.read_text(encoding="utf-8")))


@dataclass(kw_only=True)
class Job:
    """One job of a CI: its folders, and what its last action printed and wrote.

    `code` is the exit code of the last step, `outputs` are those that the action declares.
    """

    workspace: Path
    temporary: Path
    printed: str = ""
    summary: str = ""
    code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)

    def uses(self, values: Mapping[str, str], *, only: str | None = None) -> Job:
        """Run the action's shell steps with these inputs, or only the step of that id.

        Return the job. A failing step ends it and is not raised; what was printed, the summary,
        code and outputs are then the job's. A step that takes more than 110 s raises
        TimeoutExpired.
        """
        document = action()
        inputs = {
            name: declared.get("default", "") for name, declared in document["inputs"].items()
        }
        self.printed = self.summary = ""
        context = {f"inputs.{name}": value for name, value in (inputs | dict(values)).items()}
        for step in document["runs"]["steps"]:
            if "run" in step and only in (None, step["id"]):
                self.code = self._step(step, context)
                if self.code:
                    break
        named = {name: output["value"] for name, output in document["outputs"].items()}
        self.outputs = {name: _filled(value, context) for name, value in named.items()}
        return self

    def _step(self, step: dict[str, Any], context: dict[str, str]) -> int:
        """Run one step in bash and return its exit code.

        Adds to what the job printed and to its summary, and puts the step's outputs into `context`.
        """
        assert step["shell"] == "bash"
        files = {name: self.temporary / f"{step['id']}-{name}" for name in ("output", "summary")}
        script = self.temporary / f"{step['id']}.sh"
        script.write_text(step["run"], encoding="utf-8")
        for path in files.values():
            path.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.workspace / _filled(step.get("working-directory", "."), context),
            env=self._environment(files)
            | {name: _filled(value, context) for name, value in step.get("env", {}).items()},
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
        self.printed += done.stdout + done.stderr
        self.summary += files["summary"].read_text(encoding="utf-8")
        outputs = parsed(files["output"].read_text(encoding="utf-8"))
        context.update({f"steps.{step['id']}.outputs.{name}": v for name, v in outputs.items()})
        return done.returncode

    def _environment(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Return a runner's environment variables.

        They are PATH, HOME and PROCESSES of this process, these files and the job's folders.
        """
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", PROCESSES) if name in os.environ
        }
        return kept | {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temporary),
        }


def parsed(text: str) -> dict[str, str]:
    """Return the outputs in a step's output file by name, read as the runner reads them.

    Each value stands between two lines with the same mark; AssertionError if the second is missing.
    """
    lines, outputs = iter(text.splitlines()), {}
    for line in lines:
        name, _, mark = line.partition("<<")
        value: list[str] = []
        for inner in lines:
            if inner == mark:
                break
            value.append(inner)
        else:
            raise AssertionError(f"{mark} is missing")
        outputs[name] = "\n".join(value)
    return outputs


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the workflow commands that the runner reads: (name, properties, text) of each.

    Those between `stop-commands` and its mark are left out.
    """
    result, stopped = [], ""
    for line in text.splitlines():
        match = re.fullmatch(r"\s*::([^ :]+)(?: ([^:]*))?::(.*)", line)
        if match is None or (stopped and match[1] != stopped):
            continue
        if match[1] == stopped:
            stopped = ""
        elif match[1] == "stop-commands":
            stopped = match[3]
        else:
            pairs = [pair.partition("=")[::2] for pair in (match[2] or "").split(",") if pair]
            result.append((match[1], {k: _read(v) for k, v in pairs}, _read(match[3])))
    return result


def _read(text: str) -> str:
    """Return the text of a workflow command with its escapes (such as %0A) decoded."""
    for escape, meant in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, meant)
    return text


def _filled(text: str, context: Mapping[str, str]) -> str:
    """Return the text with each `${{ … }}` replaced by its value, empty if it is unknown."""
    return _EXPRESSION.sub(lambda match: context.get(match[1], ""), text)

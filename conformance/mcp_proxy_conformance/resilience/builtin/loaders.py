"""Table of built-in loaders: name, pip requirement, script, and its function (`every` or `one`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_proxy_conformance.targets.environments import Environment, install

SCRIPTS = Path(__file__).parent
_LANGCHAIN = "langchain-mcp-adapters>=0.3.2,<0.4"
_PYDANTIC_AI = "pydantic-ai-slim[mcp]>=2.60,<3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """One built-in loader: its name, the library it needs, its script, and a function of that.

    `function`: `every` if the library loads all servers at once, `one` if one at a time.
    """

    name: str
    package: str
    requirement: str
    script: str
    function: Literal["every", "one"]
    about: str

    @property
    def environment(self) -> Environment:
        """The virtual environment of its library, made or not."""
        return Environment(kind="loaders", package=self.package, requirement=self.requirement)


_ALL = (
    Builtin(
        name="langchain",
        package="langchain-mcp-adapters",
        requirement=_LANGCHAIN,
        script="langchain.py",
        function="every",
        about="MultiServerMCPClient.get_tools() for all servers at once",
    ),
    Builtin(
        name="langchain-each",
        package="langchain-mcp-adapters",
        requirement=_LANGCHAIN,
        script="langchain.py",
        function="one",
        about="MultiServerMCPClient.get_tools(server_name=...) for one server after another",
    ),
    Builtin(
        name="mcp-sdk",
        package="mcp",
        requirement="mcp>=2.3,<3",
        script="mcp_sdk.py",
        function="one",
        about="Client and list_tools() of the official SDK for one server after another",
    ),
    Builtin(
        name="openai-agents",
        package="openai-agents",
        requirement="openai-agents>=0.24,<0.25",
        script="openai_agents.py",
        function="every",
        about="MCPServerManager, then list_tools() of each connected server",
    ),
    Builtin(
        name="pydantic-ai",
        package="pydantic-ai-slim",
        requirement=_PYDANTIC_AI,
        script="pydantic_ai.py",
        function="every",
        about="an MCPToolset for each server, all opened together as an agent does",
    ),
    Builtin(
        name="pydantic-ai-each",
        package="pydantic-ai-slim",
        requirement=_PYDANTIC_AI,
        script="pydantic_ai.py",
        function="one",
        about="an MCPToolset for one server after another",
    ),
)


class UnknownBuiltin(LookupError):
    """No builtin has that name; the message lists the names."""


def builtins() -> tuple[Builtin, ...]:
    """Return all builtins, in the order of their names."""
    return _ALL


def builtin(name: str) -> Builtin:
    """Return the builtin of that name; raise UnknownBuiltin without one."""
    for loader in _ALL:
        if loader.name == name:
            return loader
    names = ", ".join(loader.name for loader in _ALL)
    raise UnknownBuiltin(f"no builtin loader is named {name!r}; choose one of {names}")


def command(builtin: Builtin) -> tuple[str, ...]:
    """Return the command that starts the builtin as a loader program.

    A missing environment is made first, which may take minutes. Raises NotInstalled if that
    fails.
    """
    install(builtin.environment)
    script, wrapper = SCRIPTS / builtin.script, SCRIPTS / "wrapper.py"
    python = str(builtin.environment.python)
    return (python, "-I", str(wrapper), str(script), builtin.function)

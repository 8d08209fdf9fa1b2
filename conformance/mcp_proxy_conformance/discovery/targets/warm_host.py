"""A warm host of the reference: one process that has imported everything and forks instances."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_proxy_conformance.targets.process import Process, expect_groups, output_beside
from mcp_proxy_conformance.targets.target import TargetNotStarted


class WarmHost:
    """Starts reference proxies in milliseconds, instead of a third of a second each.

    Every proxy is a separate process, with its own session, files, port and state; only the
    imports are shared. The host is started with the first instance.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Keep the host's command line; the host is started with the first instance."""
        self._command = list(command)
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def start(self, arguments: Sequence[str], *, env: Mapping[str, str], log: Path) -> Process:
        """Have the host fork a proxy with these arguments and exactly this environment; return it.

        A host that is not running is started first. The files of output and log are made.

        Raises:
            TargetNotStarted: The host has ended, or gave no process id.
        """
        wanted = {
            "arguments": list(arguments),
            "environment": dict(env),
            "output": str(output_beside(log)),
            "log": str(log),
        }
        for path in (output_beside(log), log):
            path.touch()
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._child = self._spawn(env)
            child = self._child
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                child.stdin.write(json.dumps(wanted) + "\n")
                child.stdin.flush()
                answer = child.stdout.readline()
                return Process(int(json.loads(answer)["pid"]), log)
            except (OSError, ValueError, KeyError) as error:
                raise TargetNotStarted(
                    f"the process that starts the reference has ended: {error}"
                ) from None

    def close(self) -> None:
        """End the host process, if it runs, by closing its input, and wait.

        Instances that still run are ended by it.
        """
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.communicate()

    def _spawn(self, env: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start the host process with exactly `env`, pipes, and a session of its own.

        Raises TargetNotStarted without process groups.
        """
        expect_groups()
        return subprocess.Popen(  # noqa: S603 - our own reference
            self._command,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

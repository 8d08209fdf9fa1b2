"""The pytest plugin: `pytest --target reference` judges a target."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mcp_proxy_conformance import autoload
from mcp_proxy_conformance.catalogue.own_case import parametrise
from mcp_proxy_conformance.catalogue.specification import is_shipped, judging, specifications
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.terminal import known_failures
from mcp_proxy_conformance.run.collection import clauses_of, named, place_of
from mcp_proxy_conformance.run.companion import Companion
from mcp_proxy_conformance.run.deadline import OutOfTime, set_alarm, within
from mcp_proxy_conformance.run.judgement import Ending, Timeouts, with_breaches_of_schemas
from mcp_proxy_conformance.run.parallel.role import Role, role_of, scratch_of
from mcp_proxy_conformance.run.progress import remark
from mcp_proxy_conformance.run.pytest_bridge import (
    is_advisory,
    late_ending,
    mark_waived,
    setup_ending,
    show_pytest,
)
from mcp_proxy_conformance.run.request import NAME, add_options, request_of
from mcp_proxy_conformance.run.selection import files, left_out, select, share_out
from mcp_proxy_conformance.run.session import Conclusion, RunSession, as_found
from mcp_proxy_conformance.run.setup import SCRATCH, set_up
from mcp_proxy_conformance.run.signals import INTERRUPTION, heed
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.comparison import compared
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations
from mcp_proxy_conformance.verdict.deviations.waivers import stray
from mcp_proxy_conformance.verdict.outcome import STALE, Outcome
from mcp_proxy_conformance.verdict.redaction import inert

RUN = pytest.StashKey[RunSession]()
ENDING = pytest.StashKey[tuple[Ending, Conclusion]]()
BEGAN = pytest.StashKey[float]()
STOPPED = pytest.StashKey[bool]()
SILENCE = pytest.StashKey[Timeouts]()
WHOLE = pytest.StashKey[bool]()
REPORT = pytest.StashKey[Report]()
ROLE = pytest.StashKey[Role]()
FAULTS: list[str] = []
INSTEAD = (
    "The installed checks took the place of this folder's tests; to run these, name a path or set"
    " testpaths."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options to pytest; without a target the plugin does nothing.

    UsageError if another plugin has one of them.
    """
    try:
        add_options(parser)
    except ValueError as error:
        raise pytest.UsageError(
            f"another plugin has an option of this one; leave it out with -p no:NAME: {error}"
        ) from None


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; with a target, set up the run and close it at the end.

    UsageError for options that cannot be used.
    """
    if not config.pluginmanager.is_registered(autoload):
        autoload.pytest_configure(config)
    try:
        request = request_of(config)
        own = [judging(request.subject.kind)] if request is not None else specifications()
    except json.JSONDecodeError as error:
        raise pytest.UsageError(f"--target-options is not a JSON object: {error}") from None
    except (BadTarget, BadDeviations, LookupError) as error:
        raise pytest.UsageError(str(error)) from None
    for name in filter(None, (each.plugin for each in own)):
        config.pluginmanager.import_plugin(name)
    if request is None:
        return
    run = set_up(request, scratch_of(config) or SCRATCH)
    config.stash[RUN], config.stash[SILENCE] = run, Timeouts()
    remark(config, run.subject.remarks)
    config.add_cleanup(run.close)
    heed(config, signal.SIGTERM)
    config.stash[ROLE] = role_of(config, run)
    config.stash[WHOLE] = False


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return the sentences about what is judged, for pytest's header; none without a target."""
    run = config.stash.get(RUN, None)
    return [] if run is None else [run.redactor.text(inert(text)) for text in run.subject.remarks]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have the installed checks collected, unless a path or `testpaths` names the user's tests."""
    config = session.config
    here = config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR
    if RUN in config.stash and here and not config.getini("testpaths"):
        config.stash[WHOLE] = True
        config.args = list(map(str, files(config.stash[RUN])))


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the run's own cases to the checks that take cases of their kind and area.

    Those are of `--case FILE`, and the scenarios that are played with this target.
    """
    run = metafunc.config.stash.get(RUN, None)
    if run is not None:
        parametrise(metafunc, [*run.subject.own_cases, *run.subject.scenarios])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select, order and shard the checks; stop the run if a known failure names an unknown case.

    Cases are looked up only if the user named no tests. If named tests leave clauses of the profile
    out, the run is marked as narrowed (only a part is judged), except in a trial of the selftest.
    Of a user's own tests, pytest counts those that are not selected.
    """
    run = config.stash.get(RUN, None)
    if run is None:
        return
    own = [item for item in items if not _is_ours(item)]
    if config.stash[WHOLE] and (
        why := stray(run.request.deviations, {named(item) for item in items})
    ):
        run.state.stopped = Outcome("unknown deviation", STALE, why)
    select(items, run)
    if not (config.stash[WHOLE] or run.request.trial) and left_out(items, run):
        run.state.narrowed = True
    share_out(items, run)
    if dropped := [*{*own}.difference(items)]:
        config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Prepare the run and probe the target; if nothing can be judged, run no test.

    If some of the tests are a user's own, all are run even so: the first that needs the target
    fails, later ones are skipped. None has pytest run the tests, as it does without a target.
    """
    run = session.config.stash.get(RUN, None)
    if run is None or session.config.option.collectonly or not session.items:
        return None
    session.config.stash[ROLE].begin(session.items)
    if run.state.stopped is None or not all(map(_is_ours, session.items)):
        return None
    return session.config.stash[ROLE].give_up()


def _is_ours(item: pytest.Item) -> bool:
    return is_shipped(item.path)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Mark the run as narrowed (only a part of its checks runs), as pytest has deselected some."""
    if items and (run := items[0].config.stash.get(RUN, None)) is not None:
        run.state.narrowed = True


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Any:
    """Return a check's access to its target or loads, started with its locks proven if need be.

    Skip a check that needs what the target lacks; fail it without a target or a world. If the run
    was stopped, or of shipped ones without a target, fail the first and skip those after it.
    """
    run = request.config.stash.get(RUN, None)
    place = place_of(request.node)
    if run is None:
        if is_shipped(Path(request.function.__code__.co_filename)):
            _end(request.config, autoload.NO_TARGET)
        pytest.fail(autoload.NO_TARGET, pytrace=False)
    if place is None:
        pytest.fail("a check needs a world; mark it @on(world)", pytrace=False)
    if run.state.stopped is not None:
        _end(request.config, run.redactor.text(run.state.stopped.why))
    lacking = run.subject.lacking(place)
    if lacking is not None:
        pytest.skip(f"not applicable: {lacking}")
    opened = run.subject.open(place)
    request.node.stash[BEGAN] = time.monotonic()
    return opened


def _end(config: pytest.Config, why: str) -> NoReturn:
    if config.stash.get(STOPPED, False):
        pytest.skip(f"nothing can be judged: {why}")
    config.stash[STOPPED] = True
    pytest.fail(why, pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Have the run's subject (proxy, loader, ...) call and judge a check; show pytest the outcome.

    If the check cites clauses, its verdict is kept for the report, and breaches of schemas in its
    answers count too. Tests without a world or `bench` are left to pytest (None); for others it
    returns True, or raises for a check that pytest must not count as passed.
    """
    run = pyfuncitem.config.stash.get(RUN, None)
    place = place_of(pyfuncitem)
    if run is None or place is None or "bench" not in pyfuncitem.funcargs:
        return None
    names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    call = partial(_call, pyfuncitem.obj, arguments)
    ending = run.subject.judge(call, arguments["bench"], place)
    for companion in _companions(arguments):
        ending = arguments[companion].concluded(ending, call)
    if not (cited := clauses_of(pyfuncitem)):  # a user's own check
        return show_pytest(pyfuncitem, ending, run)
    ending = with_breaches_of_schemas(ending, cited, run.state.broken)
    conclusion = run.conclusion_of(ending, cited)
    pyfuncitem.stash[ENDING] = ending, conclusion
    return show_pytest(pyfuncitem, as_found(ending, conclusion), run)


def _call(check: Callable[..., Any], arguments: dict[str, Any], bench: Any) -> None:
    """Call the check on the bench, to which its companions are bound."""
    own = {name: arguments[name].on(bench) for name in _companions(arguments)}
    check(**(arguments | {"bench": bench} | own))


def _companions(arguments: dict[str, Any]) -> list[str]:
    """Return the names of the arguments that take part in judging the check."""
    return [name for name, value in arguments.items() if isinstance(value, Companion)]


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    """Remember both sides of a failed comparison for findings; explain only those of companions.

    None, for all others, leaves the explanation to pytest.
    """
    if config.stash.get(RUN, None) is None:
        return None
    companion = next((side for side in (left, right) if isinstance(side, Companion)), None)
    if companion is None or not companion.differs:
        compared(op, left, right)
        return None
    compared(op, *companion.sides())
    return companion.lines()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record a check's result, release its target after it, and end the session if it must end.

    It must after a failure that an option names, after too many timeouts, and when the time is up.
    Verdict and clauses join pytest's report as properties. A user's own check only has its target
    released. Raises KeyboardInterrupt if a signal was received before.
    """
    report = yield
    run = item.config.stash.get(RUN, None)
    place = place_of(item)
    if run is None or place is None:
        return report
    item.config.stash[INTERRUPTION].again()
    if call.when == "teardown" and run.subject.lacking(place) is None:
        run.subject.done_with(place)
    if not clauses_of(item):  # a user's own check, which only pytest reports
        return report
    seconds = time.monotonic() - item.stash.get(BEGAN, time.monotonic())
    if call.when == "setup" and call.excinfo is not None:
        ending = setup_ending(call.excinfo, run.subject.lacking(place))
        result = run.record(item, place, ending, seconds=0.0)
        report.user_properties.append(("verdict", result.verdict))
        _stop_if_silent(item, ending, run)
    elif call.when == "call" and ENDING in item.stash:
        ending, conclusion = item.stash[ENDING]
        del item.stash[ENDING]  # its error holds every answer of the check
        result = run.record(item, place, ending, conclusion, seconds=seconds)
        _stop_if_silent(item, ending, run)
        selection = run.request.selection
        if result.convicts(selection.until):
            item.session.shouldfail = "convicted"  # pytest reports an interruption at length
        if selection.fail_fast and result.convicts(result.clauses):
            item.session.shouldfail = "--fail-fast ends a run at its first failure"
        report.user_properties += [
            ("requirements", " ".join(result.clauses)),
            ("verdict", result.verdict),
        ]
        mark_waived(report, result, run)
    elif call.when == "call" and call.excinfo is not None:
        run.record(item, place, late_ending(call.excinfo.value), seconds=seconds)
    left = run.left_s
    if left is not None and left <= 0 and not item.session.shouldfail:
        item.session.shouldfail = str(run.overdue())
    return report


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Set the suite's own alarm for a check, instead of pytest-timeout's, and return True.

    No alarm is set if the run's own limit comes first. Without a run, or unless the timeout's
    method is `signal`, return None, which leaves the timer to pytest-timeout.
    """
    run = item.config.stash.get(RUN, None)
    if run is None or settings.method != "signal":
        return None
    seconds = settings.timeout
    if run.left_s is None or run.left_s > seconds:
        alarm = OutOfTime(f"the check did not end within {seconds:g} s", of_run=False)
        vars(item)["cancel_timeout"] = set_alarm(seconds, alarm)  # pytest-timeout calls it
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Interrupt a check, or its set-up, when the whole run's time is up; else do nothing."""
    run = item.config.stash.get(RUN, None)
    with nullcontext() if run is None else within(run.left_s, run.overdue()):
        return (yield)


pytest_runtest_call = pytest_runtest_setup


def _stop_if_silent(item: pytest.Item, ending: Ending, run: RunSession) -> None:
    """Count a check's ending, and stop the run at the fifth timeout in a row.

    A trial of the selftest is not stopped.
    """
    outcome = item.config.stash[SILENCE].after(ending, advisory=is_advisory(item))
    if outcome is not None and not run.request.trial:
        run.state.stopped = outcome
        item.session.shouldfail = "the target stopped answering"


def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Ignore SIGINT and SIGTERM from now on, so that the report is still written."""
    del excinfo
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Remember a failed collection, e.g. an import, as a fault of the suite, by its last line."""
    if report.failed:
        FAULTS.append(f"{report.nodeid}: {str(report.longrepr).strip().rpartition(chr(10))[2]}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Complete the run's state, write the report and end every target.

    Do nothing without a run, or if tests were only collected. Pytest's exit code 0 becomes 1 if the
    run was stopped, or if the report's own is that of a stale deviation. UsageError if the report
    cannot be written.
    """
    run = session.config.stash.get(RUN, None)
    if run is None or session.config.option.collectonly:
        return
    state = run.state
    state.faults, FAULTS[:] = list(FAULTS), []
    state.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED and not state.faults
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        state.faults.append("pytest itself failed; its log says where")
    state.cut_short = str(session.shouldfail or session.shouldstop or "")
    try:
        report = session.config.stash[ROLE].end()
    except OSError as error:
        run.close()
        place, why = run.request.out / "report.json", error.strerror or repr(error)
        raise pytest.UsageError(f"{place} cannot be written: {why}") from None
    if report is None:
        return
    session.config.stash[REPORT] = report
    unjudged = state.stopped is not None  # no check has reported it to pytest
    if (unjudged or report.exit == STALE) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the state of each known failure; the outcome too, if there is any or the run stopped.

    Say, too, if the installed checks took the place of the tests that pytest would have run.
    """
    if config.stash.get(WHOLE, False) and not config.pluginmanager.has_plugin(NAME):
        terminalreporter.write_line(INSTEAD)
    report = config.stash.get(REPORT, None)
    if report is None:
        return
    lines = known_failures(report)
    if lines or config.stash[RUN].state.stopped is not None:
        terminalreporter.section("known failures" if lines else "mcp-proxy-conformance")
        summary = f"{report.headline}: {report.why}"
        terminalreporter.write_line(inert("\n".join([*lines, summary])))

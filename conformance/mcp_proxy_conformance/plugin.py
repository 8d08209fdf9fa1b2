"""The pytest plugin: `-p mcp_proxy_conformance.plugin --target reference` judges a target."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from mcp_proxy_conformance.asked import asked_run
from mcp_proxy_conformance.collected import clauses_of, is_named, named, place_of
from mcp_proxy_conformance.given import Given
from mcp_proxy_conformance.judging import Ending, attempt
from mcp_proxy_conformance.live.environment import URL
from mcp_proxy_conformance.live.live_bench import ANSWER, ANSWERS
from mcp_proxy_conformance.live.live_run import LiveRun
from mcp_proxy_conformance.report.document import write_report
from mcp_proxy_conformance.requirement import catalogue
from mcp_proxy_conformance.resilience.load_run import LoadRun, only_own
from mcp_proxy_conformance.resilience.loader_target import EXAMPLES
from mcp_proxy_conformance.resources import checks_dir
from mcp_proxy_conformance.run import Run
from mcp_proxy_conformance.silence import Silence
from mcp_proxy_conformance.verdict import Blame

RUN = pytest.StashKey[Run]()
ENDING = pytest.StashKey[Ending]()
BEGAN = pytest.StashKey[float]()
SILENCE = pytest.StashKey[Silence]()
FAULTS: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options; without a target the plugin does nothing."""
    group = parser.getgroup("mcp-proxy-conformance")
    group.addoption(
        "--target", help="the implementation under test: reference, mcpproxy, command, loader"
    )
    group.addoption("--target-file", help="the target file that `init` writes")
    group.addoption("--target-options", default="{}", help="its members that differ, as JSON")
    group.addoption("--soak", type=float, default=0.0, help="seconds; observe stages again then")
    group.addoption("--baseline", help="the folder of a recording to compare bytes with")
    group.addoption("--profile", help="the profile of clauses, or several: discovery+robustness")
    group.addoption("--out", default="mcp-proxy-conformance-out", help="folder of the report")
    group.addoption("--check", help="only this check, or this case")
    group.addoption("--case", help="only the load case in this file")
    group.addoption("--examples", type=int, default=EXAMPLES, help="loads to be generated")
    group.addoption("--seed", type=int, default=0, help="what loads are generated from")
    group.addoption("--keep", action="store_true", help="keep the targets' scratch folders")
    group.addoption("--no-confirm", action="store_true", help="do not confirm shared failures")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; with a target, set up the run and supply the installed checks."""
    config.addinivalue_line("markers", "requirement(*clauses): the clauses that a check proves")
    config.addinivalue_line("markers", "on(world): the world or stage that a check works on")
    run = asked_run(config, _given(config))
    if run is None:
        return
    config.stash[RUN], config.stash[SILENCE] = run, Silence()
    config.add_cleanup(run.close)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(checks_dir() / folder) for folder in run.profile.folders]
        config.args_source = pytest.Config.ArgsSource.ARGS
    signal.signal(signal.SIGTERM, _interrupt)


def _given(config: pytest.Config) -> Given | None:
    return next((p for p in config.pluginmanager.get_plugins() if isinstance(p, Given)), None)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case of one's own stands in the place of those of its area."""
    run = metafunc.config.stash.get(RUN, None)
    if isinstance(run, LoadRun) and (own := run.loader_target.case) is not None:
        only_own(metafunc, own)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the checks of a stage together, and tell the pool what will be needed."""
    run = config.stash.get(RUN, None)
    if run is None:
        return
    if (wanted := config.getoption("--check")) is not None:
        run.narrowed = True
        items[:] = [item for item in items if is_named(item, wanted)]
    if isinstance(run, LoadRun) and (own := run.loader_target.case) is not None:
        run.narrowed = True
        items[:] = [item for item in items if named(item)[1] == own.id]
    items[:] = [item for item in items if _in_profile(item, run)]
    given = _given(config)
    if given is not None and given.clauses is not None:
        run.narrowed = True
        items[:] = [item for item in items if given.clauses.intersection(clauses_of(item))]
    if given is not None and given.without:
        run.narrowed = True
        items[:] = [item for item in items if named(item) not in given.without]
    if given is not None and given.only:
        items[:] = [item for item in items if getattr(item, "originalname", None) == given.only]
    places = {item: place for item in items if (place := place_of(item)) is not None}
    order: dict[str, int] = {}
    for place in places.values():
        if not place.fresh:
            order.setdefault(place.name, len(order))
    items.sort(key=lambda item: order.get(places[item].name, -1) if item in places else -2)
    if given is not None:
        items.sort(key=lambda item: getattr(item, "originalname", None) != given.first)
        items[:] = items[::-1] if given.backwards else items


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """No check is run on a target that cannot be reached or has no such feature."""
    run = session.config.stash.get(RUN, None)
    if run is None or session.config.option.collectonly or not session.items:
        return None
    run.plan([place for item in session.items if (place := place_of(item)) is not None])
    run.look()
    return True if run.stopped is not None and _only_ours(session) else None


def _only_ours(session: pytest.Session) -> bool:
    """Whether every test of the session stands in a file of the suite."""
    return all(item.path.is_relative_to(checks_dir()) for item in session.items)


def _in_profile(item: pytest.Item, run: Run) -> bool:
    """Whether a check cites a clause of the profile; other tests are none of our business."""
    cited = clauses_of(item)
    return not cited or bool(set(cited) & set(run.profile.clauses))


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember that a part of the profile was left out."""
    if items and (run := items[0].config.stash.get(RUN, None)) is not None:
        run.narrowed = True


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Any:
    """The check's bench: a started and armed target of its world, or a loader and its loads."""
    run = request.config.stash.get(RUN, None)
    place = place_of(request.node)
    if run is None or place is None:
        if place is not None and place.world in (ANSWER, ANSWERS):
            pytest.fail(f"set {URL} to the URL of the endpoint", pytrace=False)
        raise pytest.UsageError("a check needs --target and the mark @on(world)")
    if run.stopped is not None:
        pytest.fail(run.redactor.text(run.stopped.why), pytrace=False)
    lacking = run.lacking(place)
    if lacking is not None:
        pytest.skip(f"not applicable: {lacking}")
    found = run.bench(place)
    request.node.stash[BEGAN] = time.monotonic()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Call a check through the judge; other tests are none of our business."""
    run = pyfuncitem.config.stash.get(RUN, None)
    place = place_of(pyfuncitem)
    if run is None or place is None or not clauses_of(pyfuncitem):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    call = partial(_call, pyfuncitem.obj, arguments, run)
    ending = run.judged(call, arguments["bench"], place)
    pyfuncitem.stash[ENDING] = ending
    return _tell_pytest(pyfuncitem, ending, run)


def _call(check: Callable[..., Any], arguments: dict[str, Any], run: Run, bench: Any) -> None:
    run.comparison = None  # evidence belongs to the call that it comes from
    check(**(arguments | {"bench": bench}))


def _tell_pytest(item: pytest.Item, ending: Ending, run: Run) -> object:
    advisory = _is_advisory(item)
    if ending.verdict == "pass":
        return True
    if ending.verdict == "not_applicable":
        pytest.skip(f"not applicable: {ending.reason}")
    if advisory and ending.verdict in ("fail", "inconclusive"):
        item.add_report_section("call", "advisory", f"{ending.verdict}: {ending.reason}")
        return True
    if ending.verdict == "inconclusive":
        pytest.fail(run.redactor.text(f"Inconclusive: {ending.reason}"), pytrace=False)
    if isinstance(run, LiveRun):
        pytest.fail(run.redactor.text(f"{ending.verdict}: {ending.reason}"), pytrace=False)
    assert ending.error is not None
    raise ending.error


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> None:
    """Keep both sides of a failing comparison for the evidence; pytest explains as ever."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.comparison = (op, left, right)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the end of a check into a result."""
    report = yield
    run = item.config.stash.get(RUN, None)
    place = place_of(item)
    if run is None or place is None or not clauses_of(item):
        return report
    seconds = time.monotonic() - item.stash.get(BEGAN, time.monotonic())
    if call.when == "setup" and call.excinfo is not None:
        ending = _setup_ending(call.excinfo)
        run.record(item, place, ending, seconds=0.0)
        _stop_if_silent(item, ending, run)
    elif call.when == "call" and ENDING in item.stash:
        ending = item.stash[ENDING]
        result = run.record(item, place, ending, seconds=seconds)
        _stop_if_silent(item, ending, run)
        given = _given(item.config)
        if given is not None and result.convicts(given.until):
            item.session.shouldfail = "convicted"  # pytest tells of an interruption at length
        report.user_properties.append(("requirements", " ".join(result.clauses)))
    elif call.when == "call" and call.excinfo is not None:
        late = isinstance(call.excinfo.value, pytest.fail.Exception)  # pytest-timeout's way
        blame: Blame = "network" if late else "suite"
        ending = Ending(verdict="error", blame=blame, reason=str(call.excinfo.value))
        run.record(item, place, ending, seconds=seconds)
    elif call.when == "teardown" and run.lacking(place) is None:
        run.done_with(place)
    return report


def _stop_if_silent(item: pytest.Item, ending: Ending, run: Run) -> None:
    """No further check waits for a target that answers nobody; proofs of checks go on."""
    found = item.config.stash[SILENCE].after(ending, advisory=_is_advisory(item))
    if found is not None and _given(item.config) is None:
        run.stopped = found
        item.session.shouldfail = "the target stopped answering"


def _is_advisory(item: pytest.Item) -> bool:
    return catalogue().clause(clauses_of(item)[0]).judgement == "A"


def _setup_ending(excinfo: pytest.ExceptionInfo[BaseException]) -> Ending:
    error = excinfo.value
    if isinstance(error, pytest.skip.Exception):
        reason = str(error).removeprefix("not applicable: ")
        return Ending(verdict="not_applicable", reason=reason)
    if isinstance(error, pytest.fail.Exception):  # pytest-timeout's way
        return Ending(verdict="error", blame="adapter", reason=str(error))
    ending = attempt(partial(_raise, error))
    # A stage that cannot be set up makes its checks errors, whosever fault it is.
    return replace(ending, verdict="error") if ending.verdict == "fail" else ending


def _raise(error: BaseException) -> None:
    raise error


def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """From now on the run is ending: a second signal must not cost the report."""
    del excinfo
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Checks that cannot be imported are a fault of the suite."""
    if report.failed:
        FAULTS.append(f"{report.nodeid}: {str(report.longrepr).strip().rpartition(chr(10))[2]}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report, whatever the run has come to; then end every target."""
    run = session.config.stash.get(RUN, None)
    if run is None or session.config.option.collectonly:
        return
    run.faults, FAULTS[:] = list(FAULTS), []
    run.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED and not run.faults
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        run.faults.append("pytest broke inside; its log says where")
    run.cut_short = str(session.shouldfail or session.shouldstop or "")
    run.finish()
    write_report(run)
    run.close()

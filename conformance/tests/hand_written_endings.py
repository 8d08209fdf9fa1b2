"""Hand-written reports of runs, `ENDINGS`, as JSON by name: one for each way a run can end.

Others have many failures, or long ones.
"""

from __future__ import annotations

from hand_written_reports import (
    CLEAN,
    ONE,
    Json,
    clause,
    coverage,
    judged_by,
    message,
    report,
    result,
)

from mcp_proxy_conformance.verdict.result import HINTS

DISAGREES = "the target does not agree with itself; seen only once: assert 11 <= 10"
UNREAD = "no lock is known for this text; pin it in the target file: 'ask the one who knows'"
UNREADABLE = {
    "reason": UNREAD,
    "cause": "unread_text",
    "hint": HINTS["unread_text"],
    "unread": [{"status": "disabled_by_config", "text": "ask the one who knows"}],
}
UNSTEADY = {"reason": DISAGREES, "cause": "disagrees", "hint": HINTS["disagrees"]}


def result_of(check: str, clauses: list[str], **members: object) -> Json:
    """Return the result of this check on these clauses, as JSON, a failure by default.

    It has no case and no messages. `members` replace its members.
    """
    return result("fail") | {
        "check": check, "case": None, "clauses": clauses, "messages": [], **members,
    }  # fmt: skip


def ended(headline: str, code: int, why: str, *clauses: Json, **members: object) -> Json:
    """Return a report, as JSON, with that headline, exit code and reason.

    Its clauses are the clean report's, replaced or followed by these; `members` are set last.
    """
    by_id = {row["id"]: row for row in (*CLEAN["clauses"], *clauses)}
    own = {"headline": headline, "exit": code, "why": why, "clauses": list(by_id.values())}
    return CLEAN | own | members


FORTY = report(*(result("fail", text=f"assert {number} <= 10") for number in range(11, 51)))
FORTY["clauses"][1]["results"] = 43
SEVERAL = report(
    result("fail"),
    result_of("test_two_clauses", ["FR-006.cap", "FR-009.note"], reason="assert 'a' == 'b'"),
    result_of("test_note", ["FR-009.note"], reason="assert None is not None", evidence=[]),
)
SEVERAL["clauses"][1]["results"] = 2
SEVERAL["clauses"].append(
    clause("FR-009.note", "required", "fail", "assert 'a' == 'b'") | {"results": 5}
)
LENGTHY = report(
    result("fail")
    | {
        "reason": "\n".join(f"line {number}" for number in range(40)),
        "evidence": [f"disabled / {number}: 2; allowed: 1" for number in range(30)],
        "messages": [f"crowd/{number}" for number in range(20)],
    }
)
LENGTHY["messages"] = {f"crowd/{number}": message("sent", "x" * 5000) for number in range(20)}
OPEN = ended(
    "incomplete", 4, "not settled: FR-006.cap, FR-005.class",
    clause("FR-005.class", "required", "inconclusive", UNREAD),
    clause("FR-006.cap", "required", "inconclusive", DISAGREES),
    results=[
        result_of("test_words", ["FR-005.class"], verdict="inconclusive", blame="", **UNREADABLE),
        result_of(
            "test_more_words", ["FR-005.class"], verdict="inconclusive", blame="", **UNREADABLE
        ),
        result_of("test_cap", ["FR-006.cap"], verdict="inconclusive", blame="", **UNSTEADY),
    ],
)  # fmt: skip
WHY_BROKEN = "the adapter ended with exit code 5:\nTraceback\nboom"
BROKEN = ended(
    "target or adapter broke", 3, WHY_BROKEN,
    clause("FR-006.cap", "required", "error", WHY_BROKEN),
    results=[
        result_of(
            f"test_{number}", ["FR-006.cap"], verdict="error", reason=WHY_BROKEN, blame="adapter"
        )
        for number in range(40)
    ],
)  # fmt: skip
PARTIAL = ended(
    "partial", 0,
    "judged clauses: 1 pass; the rest of the profile was left out",
    clause("FR-006.fills", "advisory", "not_applicable", "left out") | {"results": 0},
    clause("FR-010.inspect", "required", "not_applicable", "left out") | {"results": 0},
    clause("FR-006.cap", "required", "not_applicable", "left out") | {"results": 0},
    complete=False,
)  # fmt: skip
STOPPED = ONE | {
    "complete": False,
    "clauses": [
        *ONE["clauses"][:2],
        *(
            clause(name, "required", "inconclusive", "the run ended before it") | {"results": 0}
            for name in ("FR-006.window", "FR-010.inspect", "FR-010.sum")
        ),
    ],
}
LOADER = CLEAN | {
    "headline": "violated",
    "exit": 1,
    "why": "broken: T1.timeout",
    "profile": judged_by("resilience"),
    "target": {"kind": "loader", "version": "", "wire": "", "capabilities": ["classifies"]},
    "clauses": [
        clause("T1.timeout", "required", "fail", "status of alpha"),
        clause("T2.cut", "required", "pass"),
        clause("R1.once", "required", "not_applicable", "retries is not declared"),
    ],
    "results": [
        result_of(
            "test_a_timeout_is_transient",
            ["T1.timeout"],
            case="timeout-late-list",
            stage="loads of timeout",
            evidence=["status of alpha: permanent; allowed: transient"],
            reason="status of alpha: permanent; allowed: transient",
        )
    ],
    "messages": {},
}
LIVE = ended(
    "consistent with discovery-live@1", 0, "nothing observed contradicts it",
    profile=judged_by("discovery-live"),
    target={"kind": "endpoint", "version": "1.2", "wire": "stateless", "capabilities": []},
)  # fmt: skip
WAIVER = {
    "id": "FR-006.cap",
    "reason": "the limit is mended in the next release",
    "issue": "https://tracker.invalid/7",
    "expires": "2027-01-31",
    "file": "mcp-proxy-conformance-deviations.toml",
    "line": 4,
    "state": "used",
    "results": 1,
}
WAIVED = ended(
    "passes with 1 deviation", 0, "every other clause passes or does not apply",
    clause("FR-006.cap", "required", "waived", "assert 11 <= 10"),
    results=[result_of("test_cap", ["FR-006.cap"], verdict="waived")],
    waivers=[WAIVER, WAIVER | {"id": "FR-010.sum", "line": 9, "state": "unobserved"}],
)  # fmt: skip
ARMED = {
    "place": "crowd",
    "stage": "crowd",
    "armed": {
        "called": ["forge:list_repos", "forge:delete_repo"],
        "refused": ["forge:delete_repo"],
        "skipped": {"mint:add": "approval is not declared"},
        "unproven": {},
    },
}
TIMED = ONE | {
    "stages": [ARMED],
    "results": [*ONE["results"], result("fail", level="advisory"), *CLEAN["results"]],
    "timing": {
        "seconds": 2.5,
        "stages": {"crowd": 0.4},
        "results": {"test_cap[11]": {"seconds": 0.25}},
    },
}
UNCOVERED = CLEAN | {"coverage": coverage("the time was over")}
ENDINGS = {
    "none": CLEAN,
    "one": ONE,
    "several": SEVERAL,
    "forty": FORTY,
    "lengthy": LENGTHY,
    "open": OPEN,
    "broken": BROKEN,
    "partial": PARTIAL,
    "stopped": STOPPED,
    "loader": LOADER,
    "live": LIVE,
    "waived": WAIVED,
    "timed": TIMED,
    "uncovered": UNCOVERED,
}

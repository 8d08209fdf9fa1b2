"""Differences of pauses: seen where they are, none where they are not, open where noise may be."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.loads import Loads
from mcp_proxy_conformance.resilience.pauses import RETRIED, growth, jitter, timed
from mcp_proxy_mutants.resilience.changed import ChangedLoad

SERVERS, PAUSES_S, RUNS = 8, (0.5, 1.0), 10
Pause = Callable[[int, float], float]

RECORDED = {
    "equal, idle machine": (
        [
            [522.5, 522.5, 522.6, 522.6, 522.7, 519.7, 519.7, 519.8],
            [1020.1, 1020.8, 1021.7, 1021.7, 1019.1, 1018.9, 1018.9, 1018.8],
        ],
        10.4,
        False,
    ),
    "equal, busy machine": (
        [
            [586.5, 583.9, 584.0, 584.0, 585.2, 550.0, 586.6, 586.5],
            [1158.9, 1070.5, 1055.4, 1158.9, 1159.5, 1112.7, 1059.4, 1158.9],
        ],
        44.0,
        None,
    ),
    "a tenth, idle machine": (
        [
            [526.5, 556.2, 480.2, 480.5, 492.8, 492.8, 487.5, 554.8],
            [907.0, 1100.5, 932.0, 1083.4, 981.7, 952.4, 1027.4, 913.0],
        ],
        2.2,
        True,
    ),
    "a tenth, busy machine": (
        [
            [665.4, 656.8, 507.8, 609.0, 656.7, 648.3, 563.1, 508.7],
            [1052.6, 1093.7, 1059.4, 1074.6, 1030.9, 1030.4, 1055.2, 1119.6],
        ],
        29.5,
        None,
    ),
    "no pauses": ([[9.1, 9.4, 8.0, 7.7, 9.9, 10.2, 9.3, 8.8]] * 2, 9.0, None),
}
"""Recorded pauses by retry and the loader's reaction, in ms, and whether jitter is seen."""


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_pauses_are_read(name: str) -> None:
    """Of recorded pauses, jitter is seen, none is, or it is open, as listed."""
    retries, reaction_ms, is_seen = RECORDED[name]

    assert jitter(retries, [reaction_ms]).is_seen is is_seen


def made(share: float, noise_ms: float, seed: int) -> bool | None:
    """Return whether jitter is seen in pauses with that share of jitter and that mean noise.

    A reaction has the noise of two steps, as it was seen to have twice that of a pause or more.
    """
    rng = random.Random(seed)  # noqa: S311 - made pauses

    def pause(seconds: float) -> float:
        return seconds * 1000 * rng.uniform(1 - share, 1 + share) + rng.expovariate(1 / noise_ms)

    retries = [[pause(seconds) for _ in range(SERVERS)] for seconds in PAUSES_S]
    reactions = [rng.gammavariate(2, noise_ms) for _ in range(4 * SERVERS)]
    return jitter(retries, reactions).is_seen


@pytest.mark.parametrize("noise_ms", [0.5, 3, 15, 60])
def test_equal_pauses_are_never_called_jitter_whatever_the_noise(noise_ms: float) -> None:
    """Equal pauses are never called jitter; on a quiet machine they have none in every run."""
    seen = {made(0.0, noise_ms, seed) for seed in range(500)}

    assert seen == {False} if noise_ms < 10 else True not in seen


@pytest.mark.parametrize("noise_ms", [0.5, 3, 15, 60])
@pytest.mark.parametrize("share", [0.1, 0.25, 1.0])
def test_jitter_is_never_called_none_whatever_the_noise(share: float, noise_ms: float) -> None:
    """Jitter of a tenth and more is never called none; on a quiet machine it is seen."""
    seen = [made(share, noise_ms, seed) for seed in range(500)]

    assert False not in seen
    assert noise_ms > 1 or set(seen) == {True}


def test_a_loader_of_one_request_an_attempt_needs_more_jitter() -> None:
    """Without a reaction to compare with, jitter of a tenth is open, and full jitter is seen."""
    rng = random.Random(1)  # noqa: S311 - made pauses
    of = {
        share: [[s * rng.uniform(1 - share, 1 + share) for _ in range(SERVERS)] for s in PAUSES_S]
        for share in (0.0, 0.1, 1.0)
    }

    assert [jitter(retries, []).is_seen for retries in of.values()] == [False, None, True]


@pytest.mark.parametrize(
    ("last_ms", "grows"), [(400, False), (498, False), (504, False), (530, None), (560, True)]
)
def test_pauses_grow_if_noise_does_not_explain_it(last_ms: float, *, grows: bool | None) -> None:
    """Pauses grow if the last ones are longer than the first ones by more than noise makes."""
    retries = [[500.0] * SERVERS, [last_ms] * SERVERS]

    assert growth(retries, [20.0]).is_seen is grows


ENDS: list[tuple[str, Pause, bool]] = [
    ("equal", lambda _, base: base, True),
    ("doubled", lambda n, base: base * (1 << n - 1), True),
    ("a-tenth", lambda n, base: base * (1 << n - 1) * random.uniform(0.9, 1.1), False),  # noqa: S311
    ("full", lambda n, base: base * (1 << n - 1) * random.random(), False),  # noqa: S311
]
"""Loaders by their pauses, and what is never said of them: whether jitter is seen."""


@pytest.mark.proof(parts=8)
@pytest.mark.parametrize(("name", "pause", "never"), ENDS, ids=[row[0] for row in ENDS])
def test_ten_runs_of_a_loader_never_say_what_is_not(
    name: str, pause: Pause, tmp_path: Path, *, never: bool
) -> None:
    """In ten runs, equal pauses are never called jitter, nor different ones equal.

    A busy machine may leave runs open.
    """
    changed = ChangedLoad(id=name, text=name, change={"pause": pause})
    target = embedded_target(changed)
    loads = Loads(target.loader, tmp_path)
    try:
        runs = [
            jitter(*timed(loads.of(msgspec.structs.replace(RETRIED, id=f"run {number}"))))
            for number in range(RUNS)
        ]
    finally:
        loads.close()
        target.close()

    assert [str(run) for run in runs if run.is_seen is never] == []

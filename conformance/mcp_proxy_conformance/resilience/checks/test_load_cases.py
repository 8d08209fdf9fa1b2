"""The JSON cases of fixtures/resilience, one check per area: the outcome of each server."""

from __future__ import annotations

from mcp_proxy_conformance.resilience.driven_loader import LoadBench, each_load
from mcp_proxy_conformance.resilience.load_case import LoadCase


@each_load("timeout")
def test_a_server_that_does_not_answer_in_time_may_pass(bench: LoadBench, case: LoadCase) -> None:
    """Silent and slow servers are transient and tried again, within the maximum.

    Each case's load is compared with the outcomes and attempts that the case allows.
    """
    bench.judged(case).conclude()


@each_load("cut")
def test_a_connection_that_is_cut_may_pass(bench: LoadBench, case: LoadCase) -> None:
    """A reset, an early close and an incomplete body are transient and tried again.

    Each case's load is compared with the outcomes and attempts that the case allows.
    """
    bench.judged(case).conclude()


@each_load("error")
def test_an_error_of_the_server_may_pass(bench: LoadBench, case: LoadCase) -> None:
    """A 5xx status is transient and tried again.

    Each case's load is compared with the outcomes and attempts that the case allows.
    """
    bench.judged(case).conclude()


@each_load("authorization")
def test_an_authorization_that_timed_out_is_no_denial(bench: LoadBench, case: LoadCase) -> None:
    """A 403 that mentions a timeout is transient; a 403 that does not is a denial.

    Texts are the timeout signatures that the loader declares; not applicable without any.
    """
    bench.judged(case).conclude()


@each_load("permanent")
def test_what_will_not_heal_is_permanent_and_tried_once(bench: LoadBench, case: LoadCase) -> None:
    """An unknown name, closed port, wrong path or malformed connection is permanent, tried once.

    Each case's load is compared with the outcomes and attempts that the case allows.
    """
    bench.judged(case).conclude()


@each_load("denied")
def test_a_denial_is_told_as_one_and_never_tried_again(bench: LoadBench, case: LoadCase) -> None:
    """A 401 or 403 without the signature of a timeout is denied and tried once.

    Each case's load is compared with the outcomes and attempts that the case allows.
    """
    bench.judged(case).conclude()


@each_load("unnamed")
def test_what_the_text_does_not_name_is_told_alike_twice(bench: LoadBench, case: LoadCase) -> None:
    """What the specification maps to no class of failure has the same status in two loads.

    It is a class of failure (transient, permanent or denied) or, where a case allows that,
    available.
    """
    bench.judged(case).conclude()


@each_load("failed")
def test_a_server_that_fails_is_not_available(bench: LoadBench, case: LoadCase) -> None:
    """Whatever the failure, named by the mapping or not, the server is not available.

    Which class of failure it is reported as is not judged here.
    """
    bench.judged(case).conclude()


@each_load("page")
def test_a_list_that_breaks_off_is_a_failure(bench: LoadBench, case: LoadCase) -> None:
    """A server whose second page of tools fails, where it is asked for, is not available.

    Not applicable if the loader reads only first pages.
    """
    bench.judged(case).conclude()


@each_load("outcome")
def test_every_server_has_one_outcome_of_the_right_form(bench: LoadBench, case: LoadCase) -> None:
    """Ids, statuses, tools, errors and reported attempts match what each server did."""
    bench.judged(case).conclude()


@each_load("recovery")
def test_a_server_that_comes_back_is_available(bench: LoadBench, case: LoadCase) -> None:
    """A server that recovers is available after a retry; a healthy one is not tried again."""
    bench.judged(case).conclude()


@each_load("trap")
def test_what_is_permanent_or_denied_ends_the_attempts(bench: LoadBench, case: LoadCase) -> None:
    """After a permanent or denied attempt, or the last one allowed, no other is made.

    The next one would succeed.
    """
    bench.judged(case).conclude()


@each_load("isolation")
def test_no_server_changes_the_outcome_of_another(bench: LoadBench, case: LoadCase) -> None:
    """Each server has the same outcome as alone, whatever fails beside it."""
    bench.judged(case).conclude()


@each_load("order")
def test_the_order_of_the_servers_changes_no_outcome(bench: LoadBench, case: LoadCase) -> None:
    """The same servers in reverse order have the same outcomes."""
    bench.judged(case).conclude()


@each_load("end")
def test_every_load_comes_to_an_end(bench: LoadBench, case: LoadCase) -> None:
    """Whatever a server does, the load ends in bounded time.

    A load that gets no answer from the loader within that time is a breach.
    """
    bench.judged(case).conclude()


@each_load("again")
def test_a_second_load_finds_what_has_come_back(bench: LoadBench, case: LoadCase) -> None:
    """In a second load, a server is available if it answers then, and only then."""
    bench.judged(case).conclude()


@each_load("none")
def test_a_load_of_no_servers_tells_of_none(bench: LoadBench, case: LoadCase) -> None:
    """A load of no servers has no outcome and no warning."""
    bench.judged(case).conclude()


@each_load("text")
def test_words_that_the_loader_sent_change_no_class(bench: LoadBench, case: LoadCase) -> None:
    """Words about failures in paths, ids, queries and headers change no class of failure.

    The classes are transient, permanent and denied.
    """
    bench.judged(case).conclude()


@each_load("secret")
def test_no_secret_that_was_handed_over_is_told(bench: LoadBench, case: LoadCase) -> None:
    """Credentials appear in no error, warning or other output, in any encoding."""
    bench.judged(case).conclude()


@each_load("sharing")
def test_what_one_server_sets_is_not_sent_to_another(bench: LoadBench, case: LoadCase) -> None:
    """Cookies and session ids are sent only to the server that issued them."""
    bench.judged(case).conclude()


@each_load("warning")
def test_warnings_tell_the_classes_apart(bench: LoadBench, case: LoadCase) -> None:
    """No warning names a server under a class that is not its own.

    Those for transient and for permanent servers differ; an available server is named in none.
    """
    bench.judged(case).conclude()

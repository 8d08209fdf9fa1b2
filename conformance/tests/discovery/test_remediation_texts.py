"""The judge of remediation texts: corpus, word lists, laws, masks of names, pins, acts; a rule."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import strangers
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir
from mcp_proxy_conformance.discovery.remediation import (
    claims_operator_policy,
    judge,
    mask,
    tells_user_act,
)

CONFIG = "disabled_by_config"
STATUSES = (
    CONFIG,
    "disabled_by_user",
    "pending_approval",
    "server_disabled",
    "disabled_unknown",
    "server_quarantined",
)


def _document(name: str) -> Any:
    """Return the JSON document of that name in fixtures/discovery/remediation."""
    return json.loads(
        (fixtures_dir() / "discovery" / "remediation" / name).read_text(encoding="utf-8")
    )


TEXTS: list[dict[str, Any]] = _document("corpus.json")["texts"]
CORPUS = [row for row in TEXTS if row["set"] == "own"]
LEAST_CONVICTED = {
    "own": 67, "second": 6, "third": 21, "fourth": 5, "fifth": 8,
    "sixth": 13, "seventh": 8, "eighth": 11, "ninth": 8, "tenth": 10,
}  # fmt: skip
WORDS: dict[str, Any] = _document("words.json")
CONVICTED = [
    row["text"] for row in CORPUS if row["status"] == CONFIG and row["expect"] == "convicted"
]
MEANINGS: dict[str, list[str]] = WORDS["words"]
PIECES = [
    *WORDS["harmless"],
    *(phrase for phrases in MEANINGS.values() for phrase in phrases),
    *(verb.partition("/")[0] for verbs in WORDS["verbs"].values() for verb in verbs),
]
SENTENCES = st.one_of(
    st.text(),
    st.sampled_from([row["text"] for row in CORPUS]),
    st.lists(st.sampled_from([*PIECES, ".", ",", ":", '"', "\\u2019", "it", "to"])).map(" ".join),
)


def judgement(row: dict[str, Any]) -> str:
    """Return the judgement of a row's text, the names of each `server:tool` in it masked."""
    pairs = re.findall(r"([\w-]+):(\w+)", row["text"])
    return judge(mask(row["text"], {name for pair in pairs for name in pair}), row["status"])


def is_right(row: dict[str, Any], outcome: str) -> bool:
    """Whether a text is judged as expected or, of another author, not against a fair reader."""
    if "expect" in row:
        return bool(outcome == row["expect"])
    return outcome != ("convicted" if row["fair"] else "conveys")


@pytest.mark.parametrize(("name", "least"), LEAST_CONVICTED.items())
def test_no_text_of_a_set_is_misjudged(name: str, least: int) -> None:
    """`judge` errs on no text, reads half of the fair ones, and convicts at least `least` texts."""
    outcomes = [(row, judgement(row)) for row in TEXTS if row["set"] == name]
    convicted = [row["text"] for row, outcome in outcomes if outcome == "convicted"]
    fair = [outcome for row, outcome in outcomes if row.get("fair")]

    assert [row["text"] for row, outcome in outcomes if not is_right(row, outcome)] == []
    assert len(convicted) >= least
    assert fair.count("conveys") * 2 >= len(fair)


def test_the_corpus_covers_every_class_and_outcome() -> None:
    """Each status has sentences of all three outcomes in the own set, none of them twice."""
    covered = {(row["status"], row["expect"]) for row in CORPUS}
    distinct = {(row["status"], row["text"]) for row in CORPUS}

    assert {row["set"] for row in TEXTS} == LEAST_CONVICTED.keys()
    assert covered == {(s, o) for s in STATUSES for o in ("conveys", "convicted", "unrecognised")}
    assert len(distinct) == len(CORPUS)


def test_the_word_lists_are_as_their_schema_describes() -> None:
    """words.json is valid under its schema, which is itself valid."""
    schema = json.loads(
        (schemas_dir() / "remediation-words.schema.json").read_text(encoding="utf-8")
    )

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(WORDS)


def test_a_phrase_has_one_meaning() -> None:
    """No phrase or verb is in two lists of words.json."""
    listed = [*WORDS["harmless"], *(p for phrases in MEANINGS.values() for p in phrases)]
    listed += [verb for verbs in WORDS["verbs"].values() for verb in verbs]

    assert sorted(listed) == sorted(set(listed))


@pytest.mark.parametrize("row", [row for row in CORPUS if row["expect"] != "unrecognised"][::7])
def test_a_text_with_an_unknown_word_is_not_read(row: dict[str, str]) -> None:
    """A sentence that is conveyed or convicted is unrecognised with an unknown word added.

    Every seventh one of the corpus is tried.
    """
    assert judge(f"{row['text']} Zebras.", row["status"]) == "unrecognised"


@given(text=SENTENCES, status=st.sampled_from([*STATUSES, "unheard_of"]))
def test_any_text_gets_a_judgement(text: str, status: str) -> None:
    """`judge` returns one of three outcomes for any text and any status."""
    judged = judge(text, status)

    assert judged in {"conveys", "convicted", "unrecognised"}


@given(
    text=st.one_of(SENTENCES, st.sampled_from(CONVICTED)),
    word=st.sampled_from(
        [*MEANINGS["not"], *MEANINGS["operator"], *MEANINGS["policy"], "whoever", "zebra"]
    ),
    where=st.integers(min_value=0),
)
@example(text="Unlock. retrieve_tools", word="neither", where=2)
def test_a_config_text_with_a_negator_an_operator_or_an_unknown_word_is_never_convicted(
    text: str, word: str, where: int
) -> None:
    """A text about config with a certain word added anywhere is never convicted.

    The word is a negator, one for the operator or a policy, or an unknown one.
    """
    pieces = text.split(" ")
    pieces.insert(where % (len(pieces) + 1), word)

    judged = judge(" ".join(pieces), CONFIG)

    assert judged != "convicted"


@pytest.mark.parametrize("text", CONVICTED)
@pytest.mark.parametrize("letter", ["é", "ж", "語"])
def test_a_text_that_is_not_plain_english_is_never_convicted(text: str, letter: str) -> None:
    """A convicted text with a letter outside ASCII added is unrecognised."""
    judged = judge(f"{text} {letter}", CONFIG)

    assert judged == "unrecognised"


@pytest.mark.parametrize("name", ["enable_repo", "approve_policy", "not_allowed", "forge:toggle"])
@pytest.mark.parametrize(
    "row", [r for r in CORPUS if "masked_name" in r["text"]], ids=lambda r: r["text"]
)
def test_a_tool_name_does_not_sway_the_judgement(row: dict[str, str], name: str) -> None:
    """A text about a tool named like an act or a policy, its name masked, is judged as expected."""
    text = row["text"].replace("masked_name", name)

    judged = judge(mask(text, [name]), row["status"])

    assert judged == row["expect"]


def test_masking_keeps_words_that_could_acquit() -> None:
    """`mask` masks names of tools and servers, but not `policy`, nor a listed word without quotes.

    A blank name masks nothing.
    """
    text = "Denied by policy on forge: ask the user of 'enable' to wait."

    assert mask(text, ["policy", "forge", "enable", " "]) == (
        "Denied by policy on masked_name: ask the user of 'masked_name' to wait."
    )


@pytest.mark.parametrize(
    ("pinned", "outcome"), [(CONFIG, "conveys"), ("disabled_by_user", "convicted")]
)
def test_a_pinned_text_is_taken_at_its_word(pinned: str, outcome: str) -> None:
    """A text pinned for its own status conveys it; pinned for another one it is convicted."""
    text = "Ask the user to enable it. The operator cannot."

    judged = judge(text, CONFIG, pins={text: frozenset({pinned})})

    assert judged == outcome


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("Denied by operator policy.", True),
        ("The administrator has disabled this tool.", True),
        ("It's not operator policy: the user turned it off.", False),
        ("It was not disabled by the administrator.", False),
        ("If the operator disabled it, ask them.", False),
        ("Disabled by the user.", False),
    ],
)
def test_a_claim_of_operator_policy_is_recognised(text: str, *, claimed: bool) -> None:
    """`claims_operator_policy` is true of a text that says so without denial or condition."""
    assert claims_operator_policy(text) is claimed


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("Ask the user to re-enable it.", True),
        ("Operator policy. You can toggle it in the UI.", True),
        ("The user can't toggle it in the UI.", False),
        ("Call retrieve_tools with include_disabled=true.", False),
    ],
)
def test_a_user_act_is_recognised(text: str, *, tells: bool) -> None:
    """`tells_user_act` is true of a text with an act of the user that is not denied.

    A call of the discovery tool is none.
    """
    assert tells_user_act(text) is tells


def test_a_pin_acquits_no_text_that_is_plainly_wrong() -> None:
    """A text that plainly asks for a user's act is convicted of it, though pinned for config."""
    text = "Ask the user to enable it in the UI."

    judged = judge(text, CONFIG, pins={text: frozenset({CONFIG})})

    assert judged == "convicted"


DATA: dict[str, Any] = _document("convicting.json")
ACTS = [f"{b} {act}" for told in DATA["told"] for b in told["before"] for act in told["acts"]]
LISTED = {word for phrase in [*ACTS, *DATA["beside"]] for word in phrase.split()}
ACTS_ALONE = [phrase.removeprefix(". ").capitalize() + "." for phrase in ACTS]
ANY_LISTED = st.lists(st.sampled_from(sorted(LISTED)), max_size=5).map(" ".join)
IN_JAVASCRIPT = """
import { readFileSync } from 'node:fs';
const { tellsUser } = await import(process.argv[1]);
const { texts, data } = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.filter((text) => tellsUser(text, data))));
"""


def convicts(text: str) -> bool:
    """Whether the rule in `convicting.json` convicts the text."""
    said = re.sub(r"[\s,]+", " ", re.sub(r"[.:;!]+", " . ", f".{text.lower()} "))
    return any(f" {phrase} " in said for phrase in ACTS) and {*said.split()} <= LISTED


def test_every_phrase_convicts_in_the_suites_own_reader() -> None:
    """A sentence of a phrase alone is convicted by the rule, and by `judge` for a config lock."""
    acquitted = [s for s in ACTS_ALONE if not convicts(s) or judge(s, CONFIG) != "convicted"]

    assert acquitted == []


def test_no_text_is_convicted_but_by_the_reader_too() -> None:
    """The rule convicts at least twenty texts of all sets, and `judge` all of them."""
    convicted = [row["text"] for row in TEXTS if convicts(row["text"])]

    assert [text for text in convicted if judge(text, CONFIG) != "convicted"] == []
    assert len(convicted) >= 20


@given(ahead=ANY_LISTED, phrase=st.sampled_from(ACTS), behind=ANY_LISTED)
def test_no_convicted_text_conveys_operator_policy(ahead: str, phrase: str, behind: str) -> None:
    """A phrase among any listed words is convicted by the rule, and never right for `judge`."""
    text = f"{ahead} {phrase} {behind}"

    assert convicts(text)
    assert judge(text, CONFIG) != "conveys"


def test_javascript_and_the_schema_convict_the_same_texts() -> None:
    """The rule in JavaScript convicts the same texts, and so does the schema but for capitals."""
    texts = [*ACTS_ALONE, *(row["text"] for row in TEXTS if row["text"].strip())]
    convicted = [text for text in texts if convicts(text)]
    module = (Path(__file__).parents[1] / "node" / "texts.mjs").as_uri()
    schema = jsonschema.Draft202012Validator(
        json.loads((schemas_dir() / "remediation-map.schema.json").read_bytes())
    )

    done = subprocess.run(
        [strangers.NODE, "--input-type=module", "-e", IN_JAVASCRIPT, module],
        input=json.dumps({"texts": texts, "data": DATA}), capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    refused = [text for text in texts if not schema.is_valid({CONFIG: text})]

    assert json.loads(done.stdout) == convicted
    assert refused == [text for text in convicted if text != text.upper()]

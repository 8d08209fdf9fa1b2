"""Variants of wording: of remediation, of rejections and of the note."""

from collections.abc import Mapping, Sequence

from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Facts, Status
from mcp_proxy_reference.policy import POINTER, REMEDIATION, classify

Texts = Mapping[Status, str]

NEGATED: Texts = {
    "server_disabled": (
        "None of the tools of this server can be called while the server is off. "
        "Enable the server first."
    ),
    "disabled_by_config": (
        "The user cannot enable this from the UI, and toggling it there has no effect: "
        "it is denied by operator policy."
    ),
    "disabled_by_user": (
        "This is not operator policy. Don't hesitate to ask the user to enable it in the UI."
    ),
    "pending_approval": (
        "Nobody has approved this tool yet, so it won't run. Ask the user to approve it in the UI."
    ),
    "disabled_unknown": (
        "It is not known why this tool cannot be called; nothing can be advised but a look "
        "at the server logs."
    ),
    "server_quarantined": (
        "This server isn't trusted yet, so none of its tools run. "
        "Ask the user to review the server in the UI."
    ),
}
TERSE: Texts = {
    "server_disabled": "Enable the server first.",
    "disabled_by_config": "Operator policy; edit mcp_config.json; NOT user-overridable.",
    "disabled_by_user": "Ask the user to re-enable in the UI.",
    "pending_approval": "Ask the user to approve in the UI.",
    "disabled_unknown": "Reason undetermined; check server logs.",
    "server_quarantined": "Ask the user to review the server in the UI.",
}
POLITE: Texts = {
    "server_disabled": (
        "I'm sorry, the server that offers this tool is switched off. "
        "Would you kindly let the user know that the server has to be turned on first?"
    ),
    "disabled_by_config": (
        "I'm sorry, your administrator decided in the configuration that this tool may not be "
        "used here. Only the administrator is able to change that."
    ),
    "disabled_by_user": (
        "The user switched this tool off a while ago. "
        "Please ask the user to turn it back on in the dashboard, if they like."
    ),
    "pending_approval": (
        "This tool is new or has changed. Please ask the user to have a look at it and "
        "to approve it in the dashboard."
    ),
    "disabled_unknown": (
        "Sorry, the reason could not be determined just now. "
        "The server logs may tell more about it."
    ),
    "server_quarantined": (
        "For safety the server is held in quarantine. Please ask the user to review the server "
        "in the dashboard and to approve it there."
    ),
}
MARKUP: Texts = {
    "server_disabled": "**Server off** — _enable the server_ first.",
    "disabled_by_config": (
        "**Denied by policy** — set by the operator in `mcp_config.json` "
        "(`disabled_tools`/`enabled_tools`); *not* user-overridable."
    ),
    "disabled_by_user": "**Off** — ask the user to _re-enable_ the tool: `Servers → Tools`.",
    "pending_approval": "**Unapproved** — ask the user to _approve_ the tool: `Servers → Tools`.",
    "disabled_unknown": "**Reason unknown** — see the server logs.",
    "server_quarantined": "**Quarantined** — ask the user to _review_ the server: `Quarantine`.",
}
STEPS: Texts = {
    "server_disabled": "1. Enable the server. 2. Call the tool again.",
    "disabled_by_config": (
        "1. Tell the user that this is operator policy. "
        "2. The operator may edit mcp_config.json. 3. Do not ask the user to lift it."
    ),
    "disabled_by_user": "1. Ask the user to enable the tool in the UI. 2. Call it again.",
    "pending_approval": "1. Ask the user to review the tool. 2. Ask the user to approve it.",
    "disabled_unknown": "1. The reason is unknown. 2. Check the server logs.",
    "server_quarantined": "1. Ask the user to review the server. 2. Have it released.",
}
GERMAN: Texts = {
    "server_disabled": "Der Server ist ausgeschaltet und muss zuerst eingeschaltet werden.",
    "disabled_by_config": (
        "Vom Betreiber in der Konfiguration gesperrt; der Benutzer kann das nicht aufheben."
    ),
    "disabled_by_user": "Bitten Sie den Benutzer, das Werkzeug wieder einzuschalten.",
    "pending_approval": "Bitten Sie den Benutzer, das Werkzeug zu prüfen und freizugeben.",
    "disabled_unknown": "Der Grund war nicht festzustellen; siehe die Protokolle des Servers.",
    "server_quarantined": "Bitten Sie den Benutzer, den Server zu prüfen.",
}
GERMAN_SHARED: Texts = {
    **GERMAN,
    "server_quarantined": GERMAN["pending_approval"],
}
RARE: Texts = {
    **REMEDIATION,
    "server_disabled": "The whole server is down on purpose; start the server to use its tools.",
    "disabled_unknown": (
        "Why it is locked is undetermined at the moment. Try again later, then read the log files."
    ),
    "server_quarantined": (
        "Held back until somebody has inspected the server and released it from quarantine."
    ),
}
SHARED: Texts = {
    **REMEDIATION,
    "pending_approval": "Ask the user to review and approve what the server offers in the UI.",
    "server_quarantined": "Ask the user to review and approve what the server offers in the UI.",
}

SHARED_SHORT: Texts = {
    **REMEDIATION,
    "pending_approval": "Ask the user to review and approve it in the UI.",
    "server_quarantined": "Ask the user to review and approve it in the UI.",
}


def plain_rejection(facts: Facts, texts: Texts) -> str:
    """Reject with the text of the lock and the flag's name, nothing else."""
    return f"{texts[classify(facts)]} (include_disabled)"


def negated_rejection(facts: Facts, texts: Texts) -> str:
    """Reject in negations (don't, won't, need not), with the reason last."""
    return (
        f"Not called: {facts.tool.key}. Don't retry, it won't help. "
        f"You need not guess why, retrieve_tools with include_disabled=true tells. "
        f"{texts[classify(facts)]}"
    )


def document_rejection(facts: Facts, texts: Texts) -> str:
    """Reject with a JSON document of error, status, remediation and hint."""
    status = classify(facts)
    return (
        f'{{"error":"tool_locked","status":"{status}","remediation":"{texts[status]}",'
        f'"hint":"retrieve_tools(include_disabled=true)"}}'
    )


def lines_rejection(facts: Facts, texts: Texts) -> str:
    """Reject in several lines, the tool's name in quotes."""
    return f'Tool "{facts.tool.name}" is locked.\n\n- {texts[classify(facts)]}\n- {POINTER}\n'


def worded_note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return a note whose number is a word up to fifteen; None if no note is due."""
    if flag or callables or not locked:
        return None
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    words += ["eleven", "twelve", "thirteen", "fourteen", "fifteen"]
    count = len(locked)
    number = words[count] if count < len(words) else str(count)
    return (
        f"Don't give up yet: {number} locked match(es) aren't shown; "
        "pass include_disabled: true to reveal them."
    )


def bracketed_note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return a note with the number of locked matches last, in brackets; None if none is due."""
    if flag or callables or not locked:
        return None
    return f"0 callable tools. Retry with include_disabled=true for locked ones ({len(locked)})."


VARIANTS: tuple[Variant, ...] = (
    variant(
        "words-negated",
        "Texts are full of negations; the rejection gives the reason last.",
        "other-rejections",
        remediation=NEGATED,
        rejection=negated_rejection,
        note=worded_note,
    ),
    variant(
        "words-terse",
        "Texts use the words of the data model; rejections say little more.",
        "pointer",
        remediation=TERSE,
        rejection=plain_rejection,
        note=bracketed_note,
    ),
    variant(
        "words-polite",
        "Texts are long and polite.",
        "strict-core",
        remediation=POLITE,
        rejection=lines_rejection,
        note=worded_note,
    ),
    variant(
        "words-markup",
        "Texts have markup, arrows and dashes.",
        remediation=MARKUP,
        rejection=lines_rejection,
    ),
    variant("words-steps", "Texts are numbered steps.", remediation=STEPS),
    variant(
        "words-document",
        "A rejection is a JSON document.",
        rejection=document_rejection,
    ),
    variant(
        "words-german",
        "Texts are in another language, declared by the target.",
        "strict-core",
        "FR-005.class~conveys",
        remediation=GERMAN,
        rejection=lambda facts, texts: f"{texts[classify(facts)]} Siehe include_disabled.",
        pins={text: status for status, text in GERMAN.items()}
        | {f"{text} Siehe include_disabled.": status for status, text in GERMAN.items()},
    ),
    variant(
        "words-rare",
        "Switched-off servers, quarantine and unknown reasons have other texts.",
        remediation=RARE,
    ),
    variant(
        "words-shared",
        "Pending tools and quarantined servers have the same text.",
        "distinct-texts",
        "FR-005.text~pairs",
        remediation=SHARED,
    ),
    variant(
        "words-shared-short",
        "Pending tools and quarantined servers have the same short text.",
        "distinct-texts",
        "FR-005.text~pairs",
        remediation=SHARED_SHORT,
    ),
    variant(
        "words-of-off-as-of-users",
        "Switched-off servers and user locks have the same text.",
        "distinct-texts",
        "FR-005.text~pairs",
        remediation={**REMEDIATION, "server_disabled": REMEDIATION["disabled_by_user"]},
    ),
    variant(
        "words-german-shared",
        "Quarantined servers and tools that wait for approval share a text in another language.",
        "distinct-texts",
        "strict-core",
        "FR-005.text~pairs",
        remediation=GERMAN_SHARED,
        rejection=lambda facts, texts: f"{texts[classify(facts)]} Siehe include_disabled.",
        pins={text: status for status, text in GERMAN_SHARED.items()}
        | {f"{text} Siehe include_disabled.": status for status, text in GERMAN_SHARED.items()},
    ),
)

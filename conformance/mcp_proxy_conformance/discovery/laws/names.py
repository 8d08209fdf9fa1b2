"""Made-up names and words for generated worlds: letters only, none similar to or inside another."""

from __future__ import annotations

WORDS = (
    "lemadut", "bugadom", "dumara", "tuburom", "bufime", "ripedu", "giduva", "renumip", "ligeven",
    "poloku", "dumezip", "matazu", "liviro", "nadinan", "tutoko", "lanifuk", "gifemo", "nafomum",
    "mukolo", "fafeget", "fikafo", "rulevu", "tanumok", "nobedek", "lubabuk", "luloda", "noniden",
    "vinepat", "levubuk", "vipifi", "puzule", "zezemep", "labinit", "lozilam", "nelenu", "raniza",
    "dozenen", "donova", "febero", "furotit",
)  # fmt: skip
"""Words of single tools, in their names and descriptions."""
SHARED = (
    "popazat", "pupevit", "zopevu", "kugofop", "lateman", "zazevim", "nevamom", "fopolon",
)  # fmt: skip
"""Words of groups of tools, in descriptions only."""
SERVERS = (
    "dibipok", "mipuku", "dedakim", "kemime", "punidim", "makata",
)  # fmt: skip
NOWHERE = "quolvexi"
"""A word that no tool has."""
CANARIES = (
    "bidatitegimu", "lezizobopuga", "bonuzetinape", "fomikikimeko", "podetedepope",
    "nizomepegafi", "palelizugavo", "movugokizani", "rifupedigomo", "mibebovoroba",
    "munogagefuta", "voduzabegubi", "fipovadakure", "migubapinile", "nugugamibago",
    "todigolenavi", "vologazivude", "nekegogizidu", "nufenotarema", "garemavafoni",
    "vadelefuvobi", "tolinedadidi", "mapemizizoda", "vogipogilobo", "gobobodakeva",
    "rililubiviki", "buzabedovozo", "zimofofazive", "relinizudugo", "zegodanupifo",
    "dakudedonofe", "fonutevuzazi", "kirilivigoge", "gefirelamigu", "petatobabogo",
    "lakedaguredi", "penukaduvule", "bilebekarebi", "mifukagazopo", "dodotufudemi",
)  # fmt: skip
"""Canaries of single tools, planted in texts that may have to be withheld."""
VERBS = (
    "list", "push", "seal", "null", "constructor", "select", "true", "a", "disabled", "tools",
    "prototype", "server", "or", "not_found", "end_of_all_things_to_do",
)  # fmt: skip
"""Prefixes of tool names; some are words with a meaning elsewhere."""
TEXTS = (
    "",
    "A short one, for everyday work.",
    "<b>Bold</b> & \"quoted\" 'twice' \\ back {curly} [square] %s ${none}",
    "日历工具 календарь ημερολόγιο 🗓️",
    "Ask the user to enable it: disabled_by_user, server_quarantined.",
    "first line\nsecond line\n\tthird line",
    "right \u202eto left\u202c and \u2028 a line apart",
    'NEAR(x y) OR * -minus "unclosed',
    "0 tools match; 12 of them are locked.",
    "Half as long. " * 40,
    "long " * 260,
)
"""Texts that descriptions contain beside words."""

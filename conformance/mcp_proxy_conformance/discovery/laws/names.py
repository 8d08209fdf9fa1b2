"""Made-up names and words for scenarios: letters only, none similar to or inside another."""

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
    "dibipok", "mipuku", "dedakim", "kemime", "punidim", "makata", "sofeni", "jurape", "gavole",
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

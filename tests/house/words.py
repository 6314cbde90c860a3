"""The rules of docs/glossary.md as data: banned words, where they are checked, and the exceptions with their reasons.

A list of exceptions may only shrink: the tests fail for an exception that no longer occurs.
"""

from __future__ import annotations

import re

PACKAGES = ("schemas", "reconciler", "poollet", "iri")

# Folders and files in which names and texts are checked. Extend the list as soon as another one is clean.
COVERED = (
    "schemas",
    "reconciler/gitstore",
    "reconciler/world",
    "reconciler/query",
    "reconciler/decide",
    "reconciler/write",
    "reconciler/plan",
    "reconciler/schedule",
    "reconciler/loop",
    "reconciler/cli",
    "poollet/cli",
    "iri",
    "tests/iri",
    "tests/guests",
    "bench",
    "tools",
    "tests/e2e",
    "tests/fuzz",
    "tests/servers",
    "tests/schemas",
    "tests/docs",
    "tests/tools",
    "tests/house",
    "tests/soak",
    "poollet",
    "tests/poollet",
    "tests/reconciler/world",
    "tests/reconciler/lifecycle",
    "tests/reconciler/decide",
    "tests/reconciler/schedule",
    "tests/reconciler/plan",
    "tests/reconciler/write",
    "tests/reconciler/loop",
    "tests/reconciler/gitstore",
    "tests/reconciler/query",
    "tests/reconciler/cli",
    "tests/test_clocks.py",
    "tests/test_order.py",
    "tests/test_tutorial.py",
)
# Texts for people outside of Python: pages, the descriptions in JSON Schemas, and files that users copy.
PAGES = (
    "*.md",
    "docs/**/*",
    "examples/**/*.md",
    "reconciler/template/*",
    "schemas/**/*.json",
)

# Words that no name of a module, class, function, parameter or field contains.
BANNED_IN_NAMES = frozenset(
    """
    anew mend mended mending vouch vouched standstill elsewhere somebody nobody hindrance warrant wish
    wished wishes told said heard unheard hearing asked begun gone_by let_go doubt doubtful strange odd
    stranger strangers unsettled settled deed fate grace pilot nature lacking tending sweeping keeping
    chores tenancy
    """.split()  # noqa: SIM905
)

# A participle alone is no name for a function: it says neither who acts nor on what.
PARTICIPLES = frozenset(
    """
    begun brought built chosen done drawn driven found given gone had heard held kept known laid left lost
    made meant met paid read_out run_out said seen sent set_down shown sought spent spoken stood taken
    thought told tried understood won written
    """.split()  # noqa: SIM905
)
PARTICIPLE = re.compile(r"_*[a-z]+ed")
# Words that end in "ed" and are no participles.
NO_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed"})

# Expressions that no message, docstring, comment or page contains, and what to write instead.
BANNED_IN_TEXTS = {
    r"\banew\b": "again",
    r"\bmend(s|ed|ing)?\b": "fix; for an agent: correct drift",
    r"\b(no|some)body\b": "name the person or the program",
    r"\bvouch(es|ed)?\b": "approve",
    r"\bstandstill\b": "observe only",
    r"\b(is|are|was) gone by\b|\bgo(es)? by (it|that|what)\b": "is applied",
    r"\blets? go\b": "release, detach",
    r"\bstands?\b(?! for)": "is, applies, remains",
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|one\b|two\b)": "is not a",
    r"\bheard of\b|\bnot heard\b": "has reported; heartbeat alive, unconfirmed or expired",
    r"\b(colour|behaviour|neighbour|honour|favour|artefact|catalogue|grey|licence)s?\b": "American spelling",
    r"\b(recogni|initiali|normali|organi|seriali|synchroni|summari|canonicali)s(e|es|ed|ing|ation)\b": "American spelling",
}

# Texts that quote a foreign text, or define a banned word: path, expression of BANNED_IN_TEXTS, reason.
TEXTS_ALLOWED: dict[tuple[str, str], str] = {}

# Public classes that several modules define, and why each of them needs that very name.
CLASSES_ALLOWED: dict[str, str] = {}

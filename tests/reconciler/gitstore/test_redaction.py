from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler.gitstore.redaction import MOST_CHARACTERS, STARS, Redactor, SecretValue, build_redactor

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Letters that no fixed word of a message consists of, so that finding one means that it leaked.
secrets = st.text("ЖЩЮ%&:/@ =+", min_size=3, max_size=12).filter(lambda text: any(c in "ЖЩЮ" for c in text))


@given(
    secret=secrets, before=texts, after=texts, kind=st.sampled_from(["plain", "quoted", "pair", "encoded"])
)
def test_no_spelling_of_a_secret_passes(secret: str, before: str, after: str, kind: str) -> None:
    spelled = {
        "plain": secret,
        "quoted": quote(secret, safe=""),
        "pair": base64.b64encode(f"ann:{secret}".encode()).decode(),
        "encoded": base64.b64encode(secret.encode()).decode(),
    }[kind]
    assume(spelled not in before and spelled not in after)
    clean = build_redactor([("ann", SecretValue(secret))]).clean(f"{before}{spelled}{after}")
    assert spelled not in clean


@given(texts)
def test_what_is_clean_prints_and_stays_clean(text: str) -> None:
    clean = Redactor().clean(text)
    assert all(line.isprintable() for line in clean.split("\n"))
    assert Redactor().clean(clean) == clean


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("fatal: https://ann:pw@host/x failed", f"fatal: https://{STARS}@host/x failed"),
        ("fatal: https://ghp_token@host/x", f"fatal: https://{STARS}@host/x"),
        ("fatal: ssh://git@host/x", "fatal: ssh://git@host/x"),
        ("ssh://git:pw@host/x", f"ssh://{STARS}@host/x"),
        ("> Authorization: Basic YWJj", f"> Authorization: {STARS}"),
        ("> authorization: bearer abc.def", f"> authorization: {STARS}"),
        ("> Proxy-Authorization: Basic YWJj end", f"> Proxy-Authorization: {STARS} end"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07text", "red text"),
        ("a\r\nb\n\n  c\tc\x00", "a\nb\n  c c?"),
        ("\u202egpj.exe", "?gpj.exe"),
    ],
)
def test_words_made_fit(words: str, want: str) -> None:
    assert Redactor().clean(words) == want


def test_a_flood_is_cut() -> None:
    assert len(Redactor().clean("x" * 10 * MOST_CHARACTERS)) < MOST_CHARACTERS + 10


def test_a_secret_inside_another_spelling_leaves_nothing_behind() -> None:
    both = build_redactor([("", SecretValue("abc")), ("", SecretValue("abcdef"))])
    assert both.clean("abcdef abc") == f"{STARS} {STARS}"

"""A sign of life is dated by its question, whatever happens to it on the way."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from schemas.signs_of_life import REMEMBERED, SignsOfLife


def test_an_answer_is_dated_by_its_question() -> None:
    signs: SignsOfLife[int] = SignsOfLife()
    assert signs.ask(10) == 1
    assert signs.ask(20) == 2
    assert signs.take(1, 1) == 10
    assert signs.take(2, 2) == 20
    assert (signs.alive_at, signs.received) == (20, 2)


def test_a_repeated_or_older_answer_is_no_news() -> None:
    signs: SignsOfLife[int] = SignsOfLife()
    for now in (10, 20):
        signs.ask(now)
    assert signs.take(1, 2) == 20
    assert signs.take(1, 2) is None
    assert signs.take(2, 1) is None
    assert signs.alive_at == 20


def test_a_number_that_was_never_sent_is_no_sign() -> None:
    signs: SignsOfLife[int] = SignsOfLife()
    signs.ask(10)
    assert signs.take(1, 99) is None
    assert signs.take(1, 0) is None
    assert signs.alive_at is None


def test_a_forgotten_question_is_no_sign() -> None:
    signs: SignsOfLife[int] = SignsOfLife()
    for now in range(REMEMBERED + 1):
        signs.ask(now)
    assert signs.take(1, 1) is None
    assert signs.take(1, 2) == 1


@given(seed=st.integers(), count=st.integers(1, 40))
def test_no_sign_is_later_than_the_other_end_lived(seed: int, count: int) -> None:
    """Answers arrive in any order, any number of times, after the other end has died."""
    chance, signs = random.Random(seed), SignsOfLife[int]()
    answered: list[tuple[int, int]] = []
    died_at = -1
    for now in range(count):
        number = signs.ask(now)
        answered.append((number, now))
        died_at = now
    for number, _ in chance.choices(answered, k=count):
        signs.take(number, number)
    assert signs.alive_at is not None
    assert signs.alive_at <= died_at

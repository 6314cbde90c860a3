"""Quantities: exact, canonical, and refused with a hint."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.model.quantity import LARGEST, NANO, Notation, Quantity, QuantityError, millis, parse, units


@pytest.mark.parametrize(
    ("written", "amount", "canonical"),
    [
        ("0", 0, "0"),
        ("-0.0", 0, "0"),
        ("4", 4, "4"),
        ("+4", 4, "4"),
        ("004", 4, "4"),
        ("1000", 1000, "1k"),
        ("500m", Fraction(1, 2), "500m"),
        ("0.5", Fraction(1, 2), "500m"),
        (".5", Fraction(1, 2), "500m"),
        ("5.", 5, "5"),
        ("1.5", Fraction(3, 2), "1500m"),
        ("16Gi", 16 * 2**30, "16Gi"),
        ("1536Mi", 1536 * 2**20, "1536Mi"),
        ("2048Mi", 2 * 2**30, "2Gi"),
        ("0.5Gi", 2**29, "512Mi"),
        ("1.1Ki", Fraction(11264, 10), "1126400m"),
        ("512Ki", 2**19, "512Ki"),
        ("0.5Ki", 512, "512"),
        ("16G", 16 * 10**9, "16G"),
        ("1e3", 1000, "1e3"),
        ("1E3", 1000, "1e3"),
        ("1E", 10**18, "1E"),
        ("12e-1", Fraction(6, 5), "1200e-3"),
        ("1n", Fraction(1, NANO), "1n"),
        ("100u", Fraction(1, 10**4), "100u"),
        ("-1Ki", -1024, "-1Ki"),
        ("9223372036854775807", LARGEST, "9223372036854775807"),
        (7, 7, "7"),
        (2**62, 2**62, "4611686018427387904"),
        (0.1, Fraction(1, 10), "100m"),
        (1e3, 1000, "1k"),
        (1.5, Fraction(3, 2), "1500m"),
        (1e-9, Fraction(1, NANO), "1n"),
    ],
)
def test_a_quantity_is_read_exactly_and_written_canonically(
    written: object, amount: Fraction, canonical: str
) -> None:
    quantity = parse(written)
    assert Fraction(quantity.nano, NANO) == amount
    assert str(quantity) == canonical
    assert parse(canonical) == quantity


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("16GB", "did you mean 16G or 16Gi?"),
        ("16gb", "did you mean 16G or 16Gi?"),
        ("16g", "did you mean 16G or 16Gi?"),
        ("16 Gi", "did you mean 16Gi?"),
        ("16GiB", "did you mean 16Gi?"),
        ("64K", "did you mean 64k or 64Ki?"),
        ("1,5", "did you mean 1.5?"),
        ("1_000", "did you mean 1000?"),
        ("4 cores", "did you mean 4?"),
        ("1024B", "did you mean 1024?"),
        ("50%", "write a number with an optional suffix, such as 500m, 4 or 16Gi"),
        ("", "write a number with an optional suffix, such as 500m, 4 or 16Gi"),
        ("NaN", "write a number with an optional suffix, such as 500m, 4 or 16Gi"),
        ("١٦", "write a number with an optional suffix, such as 500m, 4 or 16Gi"),
        (".", "write a number with an optional suffix, such as 500m, 4 or 16Gi"),
        (None, "write a number, or a text such as 500m, 4 or 16Gi"),
        ([], "write a number, or a text such as 500m, 4 or 16Gi"),
        (0.1 + 0.2, "put the exact number in quotes"),
        (1.2345678901234567e16, "put the exact number in quotes"),
        ("1.5n", "round it"),
        ("1e-10", "round it"),
        ("0.0000000001Ki", "round it"),
        (True, ""),
        (float("nan"), ""),
        (float("-inf"), ""),
        (2**63, ""),
        (-(10**400), ""),
        (1e300, ""),
        ("9223372036854775808", ""),
        ("1e999", ""),
        ("8Ei", ""),
        ("1" * 65, ""),
    ],
)
def test_a_refused_quantity_has_a_hint(written: object, hint: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse(written)
    assert refused.value.hint == hint
    assert refused.value.message


@given(st.integers(-LARGEST * NANO, LARGEST * NANO), st.sampled_from(Notation))
def test_a_written_quantity_reads_back(nano: int, notation: Notation) -> None:
    quantity = Quantity(nano, notation)
    again = parse(str(quantity))
    assert again == quantity
    assert str(Quantity(again.nano, notation)) == str(quantity)


@given(
    st.decimals(min_value=-(10**9), max_value=10**9, places=9),
    st.sampled_from(["", "m", "k", "Ki", "Mi", "G"]),
)
def test_parsing_agrees_with_exact_arithmetic(number: Decimal, suffix: str) -> None:
    factors: dict[str, int | Fraction] = {
        "": 1,
        "m": Fraction(1, 1000),
        "k": 1000,
        "Ki": 1024,
        "Mi": 1024**2,
        "G": 10**9,
    }
    expected = Fraction(number) * factors[suffix] * NANO
    try:
        assert parse(f"{number:f}{suffix}").nano == expected
    except QuantityError:
        assert expected.denominator != 1 or abs(expected) > LARGEST * NANO


@given(st.text())
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except QuantityError:
        return
    assert parse(str(found)) == found


@pytest.mark.parametrize(
    ("written", "ceil", "floor", "ceil_millis", "floor_millis"),
    [
        ("1.5", 2, 1, 1500, 1500),
        ("100u", 1, 0, 1, 0),
        ("-1.5", -1, -2, -1500, -1500),
        ("3", 3, 3, 3000, 3000),
    ],
)
def test_needs_round_up_and_stocks_down(
    written: str, ceil: int, floor: int, ceil_millis: int, floor_millis: int
) -> None:
    quantity = parse(written)
    assert (quantity.ceil(), quantity.floor()) == (ceil, floor)
    assert (quantity.ceil_millis(), quantity.floor_millis()) == (ceil_millis, floor_millis)


def test_whole_numbers_become_quantities() -> None:
    assert str(units(16 * 2**30)) == "16Gi"
    assert str(units(3)) == "3"
    assert str(millis(1500)) == "1500m"
    assert str(millis(4000)) == "4"

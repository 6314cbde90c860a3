"""Kubernetes quantities (`500m`, `4`, `16Gi`, `1e3`), exact: a whole number of billionths, never a float.

Callers know which resource is measured and whether it may be negative. Billionths, because `n` is the smallest suffix;
what is finer is refused instead of rounded. The notation is kept so that a quantity that gitvirt writes back looks like
the one that a person wrote.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache, total_ordering

from schemas.problem import printable

NANO = 10**9
LARGEST = 2**63 - 1  # the largest number that the runtime interface carries
LONGEST = 64

_EXACT_DIGITS = 15  # a float always keeps this many


class Notation(Enum):
    """How a quantity was written, which printing keeps."""

    DECIMAL = "decimal"  # 1500m, 2k
    BINARY = "binary"  # 2Ki
    EXPONENT = "exponent"  # 2e3


class QuantityError(ValueError):
    """The value is not a quantity. `hint` suggests what was probably meant, or is empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@total_ordering
class Quantity:
    """An amount. Equal amounts are equal in every notation; the notation only says how to print them."""

    __slots__ = ("nano", "notation")
    nano: int
    notation: Notation

    # Not a dataclass: msgspec would read an object with two fields, where a manifest has a single value.
    def __init__(self, nano: int, notation: Notation = Notation.DECIMAL) -> None:
        object.__setattr__(self, "nano", nano)
        object.__setattr__(self, "notation", notation)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Quantity is immutable: {name}")

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.nano < other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def ceil(self) -> int:
        """In whole units, rounded up: for what an object needs."""
        return -(-self.nano // NANO)

    def floor(self) -> int:
        """In whole units, rounded down: for what a pool has."""
        return self.nano // NANO

    def ceil_millis(self) -> int:
        """In thousandths, rounded up."""
        return -(-self.nano * 1000 // NANO)

    def floor_millis(self) -> int:
        """In thousandths, rounded down."""
        return self.nano * 1000 // NANO

    def __str__(self) -> str:
        """Canonical: the largest suffix that needs no fraction."""
        if self.nano == 0:
            return "0"
        if self.notation is Notation.BINARY and self.nano % NANO == 0 and abs(self.nano) >= 1024 * NANO:
            return _binary(self.nano // NANO)
        exponent = next(power for power in _POWERS if self.nano % 10 ** (power + 9) == 0)
        mantissa = self.nano // 10 ** (exponent + 9)
        if self.notation is Notation.EXPONENT:
            return f"{mantissa}e{exponent}" if exponent else f"{mantissa}"
        return f"{mantissa}{_POWERS[exponent]}"


def units(count: int) -> Quantity:
    """The quantity of this many whole units: bytes, devices, machines. Printed with binary suffixes where that is exact."""
    return Quantity(count * NANO, Notation.BINARY)


def millis(count: int) -> Quantity:
    """The quantity of this many thousandths, for processors."""
    return Quantity(count * (NANO // 1000))


def parse(value: object) -> Quantity:
    """The quantity for a value of a manifest. Raises QuantityError if the value is not a quantity."""
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise QuantityError(f"longer than {LONGEST} characters, so not a quantity")
        return _parse(value)
    if isinstance(value, bool):
        raise QuantityError(f"{'true' if value else 'false'} is not a quantity")
    if isinstance(value, int):
        return _check_bounds(value * NANO if -LARGEST <= value <= LARGEST else None, Notation.DECIMAL)
    if isinstance(value, float):
        return _of_float(value)
    raise QuantityError("not a quantity", "write a number, or a text such as 500m, 4 or 16Gi")


_POWERS = {18: "E", 15: "P", 12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "u", -9: "n"}
_DECIMAL = {suffix: power for power, suffix in _POWERS.items()}
_BINARY = {
    suffix: 1024**power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")) if power
}

_TEXT = re.compile(
    r"([+-]?)(?=[0-9.]*[0-9])([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i))?"
)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    """A text. Cached, because manifests repeat a few quantities all the time."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise QuantityError(f"'{printable(text)}' is not a quantity", _hint(text))
    sign, whole, fraction, has_exponent, exponent, suffix = match.groups()
    fraction = fraction or ""
    digits = int(f"{sign}{whole}{fraction}")
    if suffix in _BINARY:
        nano, rest = divmod(digits * _BINARY[suffix] * NANO, 10 ** len(fraction))
        return _check_bounds(nano if rest == 0 else None, Notation.BINARY, is_fine=rest != 0)
    power = (int(exponent) if has_exponent else _DECIMAL[suffix or ""]) + 9 - len(fraction)
    nano, rest = (digits * 10**power, 0) if power >= 0 else divmod(digits, 10**-power)
    notation = Notation.EXPONENT if has_exponent else Notation.DECIMAL
    return _check_bounds(nano if rest == 0 else None, notation, is_fine=rest != 0)


def _check_bounds(nano: int | None, notation: Notation, *, is_fine: bool = False) -> Quantity:
    """The quantity, or QuantityError if it is too fine or too large."""
    if is_fine:
        raise QuantityError("finer than a billionth, which gitvirt does not store", "round it")
    if nano is None or abs(nano) > LARGEST * NANO:
        raise QuantityError(f"more than {LARGEST}, the largest possible quantity")
    return Quantity(nano, notation)


def _of_float(value: float) -> Quantity:
    """A YAML number with a point, which is exact only up to 15 digits."""
    if value != value or value in (float("inf"), float("-inf")):
        raise QuantityError("not a finite number")
    text = repr(value)
    if len(text.partition("e")[0].replace(".", "").lstrip("-0")) > _EXACT_DIGITS:
        raise QuantityError(
            f"{text} has more digits than a YAML number keeps", "put the exact number in quotes"
        )
    found = _parse(text)
    return Quantity(found.nano)


def _binary(count: int) -> str:
    """The count with the largest binary suffix that divides it (`2Gi`), so that writing and reading give the same number."""
    suffix, factor = "", 1
    for longer, larger in _BINARY.items():
        if count % larger == 0:
            suffix, factor = longer, larger
    return f"{count // factor}{suffix}"


_NUMBER = re.compile(r"([+-]?[0-9][0-9 _']*(?:[.,][0-9]+)?)\s*([A-Za-z%]*)")
_PLAIN = ("b", "byte", "bytes", "core", "cores", "cpu", "cpus", "vcpu", "vcpus")


def _hint(text: str) -> str:
    """A suggestion for common mistakes: `16GB`, `16 Gi`, `1,5`, `4 cores`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return "write a number with an optional suffix, such as 500m, 4 or 16Gi"
    number = re.sub(r"[ _']", "", match[1]).replace(",", ".")
    suffix = match[2].lower()
    if suffix == "" or suffix in _PLAIN:
        return f"did you mean {number}?"
    letter = suffix[0].upper()
    if letter in "KMGTPE":
        decimal, binary = f"{number}{letter.replace('K', 'k')}", f"{number}{letter}i"
        if suffix[1:] in ("i", "ib", "ibi", "ibibyte"):
            return f"did you mean {binary}?"
        if suffix[1:] in ("", "b", "byte", "bytes", "bit"):
            return f"did you mean {decimal} or {binary}?"
    return "write a number with an optional suffix, such as 500m, 4 or 16Gi"

"""Numbers: which words are numbers in YAML 1.2's core schema, whatever the parser reads.

Parsers accept more spellings (`1_000`, `0b11`, `-0x1F`, `.Inf` in any letter case), so a name in such a spelling would
become another value. Such words are masked before parsing: a private character replaces the first one, which makes the
word text in every place. After parsing every string is unmasked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from schemas.reader.value import MAX_DIGITS

CORE = re.compile(
    r"[-+]?[0-9]+"
    r"|0o[0-7]+"
    r"|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
# A word that some parser could read as a number, in a place where a scalar can begin.
_WORD = re.compile(r"(?<![^\s,\[\]{}:])[-+]?[0-9_.][0-9A-Za-z_.+-]*")
_MAY_BE_NUMBER = re.compile(r"[0-9]|\.(?:inf|nan)\Z", re.IGNORECASE)
_UNDERSCORE = re.compile(r"_[0-9._eE+-]|[0-9.]_")
# A parser reads a number only where a word begins. `0b` alone is frequent inside identifiers, so it is searched first; so is `6_`, as in
# `ENC[AES256_GCM,...]` of an encrypted Secret.
_UNDERSCORE_WORD = re.compile(r"[\s,\[\]{}:][-+]?(?:_|[0-9.][0-9A-Za-z.+-]*_)")
_RADIX = re.compile(r"0[bBxXoO]")
_RADIX_WORD = re.compile(r"(?<![^\s,\[\]{}:])[-+]?0[bBxXoO]")
_INFINITY = re.compile(r"\.[iInN][nNaA][fFnN]")
_DIGITS = bytes(0x30 if chr(byte).isdigit() and byte < 128 else 0x20 for byte in range(256))
_LONG_RUN = b"0" * MAX_DIGITS
_WIDE = 16  # characters of a number that may exceed 60 bits, in hexadecimal
_WIDE_RUN = b"0" * _WIDE
_FIRSTS = "+-._0123456789"
# Private planes: assigned to no character, and rare, so a stretch that the text does not use is found at once.
_PLANES = range(0xF0000, 0x10FF00, 32)
# How double quotes spell a character of these planes: with 8 digits, or as two surrogates side by side.
_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_LARGE = 1 << 16  # characters
_MOST_WIDE = 2000


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with ambiguous numbers masked, and the characters to unmask them."""

    text: str
    originals: dict[int, str]

    def unmask(self, string: str) -> str:
        """The string with its original first characters."""
        return string.translate(self.originals)

    def is_long_number(self, string: str) -> bool:
        """Whether a string from the mask text is a number too long to be read as one."""
        if len(string) <= MAX_DIGITS or ord(string[0]) not in self.originals:
            return False
        return CORE.fullmatch(self.unmask(string)) is not None


def has_underscores(text: str) -> bool:
    """Whether a `_` could be part of a number. Names such as `user_data` and `AES256_GCM` need no mask."""
    return _UNDERSCORE.search(text) is not None and _UNDERSCORE_WORD.search(f"\n{text}") is not None


def may_need_mask(text: str, octets: bytes) -> bool:
    """Whether a text, `octets` in UTF-8, may hold a number that needs a mask, apart from those with `_`."""
    if _RADIX.search(text) is not None and _RADIX_WORD.search(text) is not None:
        return True
    if _INFINITY.search(text) is not None:
        return True
    if len(octets) <= MAX_DIGITS:
        return False
    digits = octets.translate(_DIGITS)
    return _LONG_RUN in digits or (len(octets) > _LARGE and digits.count(_WIDE_RUN) > _MOST_WIDE)


def mask_numbers(text: str) -> MaskedText | None:
    """Mask words that are not numbers in the core schema, and numbers too long to convert in bounded time.

    None for a text that leaves no character to mask with. Only a hostile text uses all of the private planes.
    """
    base = _unused_plane(text)
    if base is None:
        return None
    masks = {first: chr(base + at) for at, first in enumerate(_FIRSTS)}

    def mask(match: re.Match[str]) -> str:
        word = match[0]
        if not _MAY_BE_NUMBER.search(word) or (len(word) <= MAX_DIGITS and CORE.fullmatch(word)):
            return word
        return masks[word[0]] + word[1:]

    return MaskedText(_WORD.sub(mask, text), {ord(code): first for first, code in masks.items()})


def find_long_number(text: str) -> int:
    """The offset of the first number with more than MAX_DIGITS digits; 0 if there is none."""
    for match in _WORD.finditer(text):
        if match.end() - match.start() > MAX_DIGITS and CORE.fullmatch(match[0]):
            return match.start()
    return 0


def has_too_many_wide_numbers(text: str) -> bool:
    """Whether a large text has so many unquoted numbers beyond 60 bits that, as keys, they could all collide.

    Python hashes a number by its value, so a mapping with keys chosen by an attacker would take quadratic time.
    """
    if len(text) <= _LARGE:
        return False
    wide = (match for match in _WORD.finditer(text) if len(match[0]) >= _WIDE and CORE.fullmatch(match[0]))
    return next(islice(wide, _MOST_WIDE, None), None) is not None


def _unused_plane(text: str) -> int | None:
    """The first character of a stretch that neither the text nor its values use.

    An escape puts a character into a value that the text does not have. Unmasked, it would become a digit or a sign. A
    backslash outside of double quotes escapes nothing; then a stretch is avoided without need.
    """
    used = {ord(character) >> 5 for character in set(text) if ord(character) >= _PLANES.start}
    for code, high, low in _ESCAPE.findall(text):
        escaped = int(code, 16) if code else 0x10000 + ((int(high, 16) & 0x3FF) << 10 | int(low, 16) & 0x3FF)
        used.add(escaped >> 5)
    return next((base for base in _PLANES if base >> 5 not in used), None)

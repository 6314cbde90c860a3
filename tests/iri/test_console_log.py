"""Where the last lines of a log begin, whatever its size."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from iri import console_log
from iri.console_log import PART_BYTES, find_tail


def tail(log: bytes, lines: int) -> bytes:
    return log[find_tail(len(log), lines, lambda at, size: log[at : at + size]) :]


@example([b"x" * PART_BYTES, b"y" * (PART_BYTES - 1), b""], 2, True)
@example([b"", b"", b""], 2, True)
@given(
    st.lists(st.binary(max_size=9).map(lambda each: each.replace(b"\n", b"")), max_size=9),
    st.integers(1, 12),
    st.booleans(),
)
def test_the_tail_is_the_last_lines(lines: list[bytes], count: int, is_ended: bool) -> None:
    parts = [line + b"\n" for line in lines]
    if parts and not is_ended:
        parts[-1] = parts[-1][:-1] or b"x"
    assert tail(b"".join(parts), count) == b"".join(parts[-count:])


def test_all_and_none() -> None:
    assert tail(b"a\nb\n", 0) == b"a\nb\n"
    assert tail(b"a\nb\n", -1) == b""


def test_of_a_huge_log_only_the_end_is_read() -> None:
    size, sizes = 1 << 40, []

    def read(at: int, length: int) -> bytes:
        assert at >= size - 3 * console_log.PART_BYTES
        sizes.append(length)
        return (b"x" * 99 + b"\n") * (length // 100) + b"\n" * (length % 100)

    assert find_tail(size, 50, read) > size - 3 * console_log.PART_BYTES
    assert sum(sizes) <= 2 * console_log.PART_BYTES

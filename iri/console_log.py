"""The log of a serial console: what a caller asks for, and how a log with its last lines alone is read. No gRPC, no files.

A log belongs to one start of a machine: what the guest has written since its power was switched on. The log of the start before is kept as
well. Logs are as large as guests make them, so nothing here holds a whole one.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

PART_BYTES = 64 << 10


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`tail_lines`: at most so many of the last lines; 0 is all that is kept, negative none. `previous`: of the start before the last one.
    A previous log grows no more, so `follow` has no effect on it."""

    tail_lines: int = 0
    follow: bool = False
    previous: bool = False


def find_tail(size: int, lines: int, read: Callable[[int, int], bytes]) -> int:
    """Where the last lines begin in a log of that size; `read` takes an offset and a number of bytes. Reads from the end, and no more than it must.

    A line break at the very end ends the last line; it begins none.
    """
    if lines <= 0:
        return size if lines < 0 else 0
    end, left = size, lines
    while end > 0:
        begin = max(0, end - PART_BYTES)
        part = read(begin, end - begin)
        at = len(part)
        if end == size and part.endswith(b"\n"):
            at -= 1
        while (at := part.rfind(b"\n", 0, at)) >= 0:
            left -= 1
            if left == 0:
                return begin + at + 1
        end = begin
    return 0

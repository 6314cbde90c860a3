"""Resource vectors, and the one test `fits` that the scheduler, plan, explain and a host's admission all use.

A vector holds whole numbers: cpu in thousandths of a core, everything else in whole units (bytes, devices, machines of a
class). Needs are rounded up and stocks down, so rounding never overcommits a pool.

    free = allocatable - the sum of charges      allocatable = (capacity - reserved) * overcommit
    an object fits if its charge is at most free, for each resource of the charge

A resource that a pool does not name counts as zero: an object that needs a GPU does not fit a pool without the word for
it. The other way round, a resource that the object does not need never matters.

A pool that only reports how many machines of a class it takes has one resource, SHARE: the whole host is a large number
of shares, and a machine of a class of which N fit uses one Nth of them. So machines of several classes fill such a host
together, and the same `fits` decides.

Must never happen: a second way to compute what fits. If the scheduler and the explanation differed by one byte, an object
would wait without a visible reason. Nor a float: sums of a whole fleet have to be exact in every order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from schemas.live_layout import SHARE
from schemas.model.quantity import Quantity, millis, units

Vector = Mapping[str, int]

CPU = "cpu"
MEMORY = "memory"
STORAGE = "storage"
WHOLE_HOST = 10**18  # so large a number of shares that rounding down never admits one machine too many


class Shortfall(NamedTuple):
    """One resource of which more is needed than there is."""

    resource: str
    need: int
    have: int


def fits(need: Vector, free: Vector) -> tuple[Shortfall, ...]:
    """What is missing; empty if it fits. A resource that `free` does not name counts as zero."""
    for resource, wanted in need.items():
        if wanted > free.get(resource, 0):
            return shortfalls(need, free)
    return ()


def shortfalls(need: Vector, free: Vector) -> tuple[Shortfall, ...]:
    """Every resource that is short, in the order of `need`."""
    return tuple(
        Shortfall(resource, wanted, free.get(resource, 0))
        for resource, wanted in need.items()
        if wanted > free.get(resource, 0)
    )


def needs(resources: Mapping[str, Quantity]) -> dict[str, int]:
    """The vector of what is needed, rounded up."""
    return {
        name: amount.ceil_millis() if name == CPU else amount.ceil() for name, amount in resources.items()
    }


def stocks(resources: Mapping[str, Quantity]) -> dict[str, int]:
    """The vector of what is available, rounded down."""
    return {
        name: amount.floor_millis() if name == CPU else amount.floor() for name, amount in resources.items()
    }


def add(vectors: Iterable[Vector]) -> dict[str, int]:
    """The sum of vectors. Whole numbers, so the order of the vectors does not matter."""
    total: dict[str, int] = {}
    for vector in vectors:
        for resource, count in vector.items():
            total[resource] = total.get(resource, 0) + count
    return total


def subtract(stock: Vector, charge: Vector) -> dict[str, int]:
    """The difference; negative if more is charged than there is.

    That happens without a mistake: a pool shrinks, or its overcommit is lowered, while its machines keep running. Then no
    more objects fit.
    """
    return {
        resource: stock.get(resource, 0) - charge.get(resource, 0)
        for resource in stock.keys() | charge.keys()
    }


def allocatable(capacity: Vector, reserved: Vector, overcommit: Mapping[str, Fraction]) -> dict[str, int]:
    """What objects may use: capacity minus reserve, times overcommit; never less than zero."""
    return {
        resource: max(0, int((count - reserved.get(resource, 0)) * overcommit.get(resource, 1)))
        for resource, count in capacity.items()
    }


def class_count(kind: str, name: str) -> str:
    """The resource that counts machines (or bytes of volumes) of a class: `class/machine.small`."""
    return f"class/{kind}.{name}"


def share(count: int) -> int:
    """What one machine of a class uses of a host that only reports that it holds `count` of them.

    More than the whole host if it holds none. Rounded down, which is safe because the host is so large a number.
    """
    return WHOLE_HOST // count if count > 0 else WHOLE_HOST + 1


def format_amount(resource: str, count: int) -> str:
    """For people, without rounding: 1500m, 16Gi, 3."""
    if resource == SHARE:
        return f"{Fraction(count, WHOLE_HOST).limit_denominator(10**6)} of the host"
    return str(millis(count) if resource == CPU else units(count))

"""`gitvirt iri expand`: gives a volume a larger size.

The size is that of the whole volume, not what is added. The runtime refuses to shrink a volume. The call records the size and
returns; the data grows later, also under a running guest, which is why the message says "will have".
"""

from __future__ import annotations

import argparse

from iri.change import ExpandVolume
from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import Noun, add_noun
from iri.client import VOLUME
from iri.volume import Resources
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable
from schemas.model import quantity

EXAMPLES = """examples:
  gitvirt iri expand volume 3f2c9a1e-... 20Gi"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, Noun.VOLUME, metavar="volume")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("size", type=parse_size, metavar="SIZE", help="in all: 20Gi, or a number of bytes")


def parse_size(text: str) -> int:
    """Bytes of `20Gi` or of a number; the type of an argument."""
    try:
        size = quantity.parse(text)
    except quantity.QuantityError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.message}") from None
    if size.nano <= 0 or size.ceil() >= 1 << 63:
        raise argparse.ArgumentTypeError(f"invalid volume size {text!r}")
    return size.ceil()


def run(arguments: argparse.Namespace) -> int:
    """Prints what is ordered, not what is there: the data grows later."""
    with connect_runtimes(arguments, VOLUME) as client:
        client.change(arguments.id, ExpandVolume(Resources(storage_bytes=arguments.size)))
    size = quantity.units(arguments.size)
    out().line(f"Volume {printable(arguments.id)} will have {size}")
    return Exit.OK

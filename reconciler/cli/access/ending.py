"""Certificates that end soon, as `gitvirt get pools` and `gitvirt status` warn of them. Nothing is loaded for a fleet without certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import TextStyle, err, printable

if TYPE_CHECKING:
    from schemas.settings.certificate_dates import EndingCertificate

MOST_NAMED = 5


def find_ending(fleet: FleetRepo) -> tuple[EndingCertificate, ...]:
    """Of the fleet's settings, as of now; the first to end comes first."""
    if fleet.settings is None or not fleet.settings.certificate_entries():
        return ()
    from schemas.settings import certificate_dates

    return certificate_dates.find_ending(fleet.settings, datetime.now(UTC))


def note_ending(fleet: FleetRepo) -> None:
    """On standard error, so that tables stay tables."""
    ending = find_ending(fleet)
    for each in ending[:MOST_NAMED]:
        err().line(f"{err().paint('note:', TextStyle.YELLOW)} {printable(f'{each}; {each.cure}')}")
    if len(ending) > MOST_NAMED:
        err().line(f"and {len(ending) - MOST_NAMED} more certificates: `gitvirt status` lists them")

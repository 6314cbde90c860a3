"""Certificates that expire soon, as `gitvirt get pools` and `gitvirt status` warn of them. Nothing is loaded for a fleet without certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import TextStyle, err, printable

if TYPE_CHECKING:
    from schemas.settings.certificate_dates import ExpiringCertificate

MOST_NAMED = 5


def find_expiring(fleet: FleetRepo) -> tuple[ExpiringCertificate, ...]:
    """Of the fleet's settings, as of now; the first to end comes first."""
    if fleet.settings is None or not fleet.settings.certificate_entries():
        return ()
    from schemas.settings import certificate_dates

    return certificate_dates.find_expiring(fleet.settings, datetime.now(UTC))


def note_expiring(fleet: FleetRepo) -> None:
    """On standard error, so that tables stay tables."""
    expiring = find_expiring(fleet)
    for each in expiring[:MOST_NAMED]:
        err().line(f"{err().paint('note:', TextStyle.YELLOW)} {printable(f'{each}; {each.cure}')}")
    if len(expiring) > MOST_NAMED:
        err().line(f"and {len(expiring) - MOST_NAMED} more certificates: `gitvirt status` lists them")

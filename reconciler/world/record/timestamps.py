"""Moments as the target branch writes them: UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime | None:
    """None for a text that is not a moment with a zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.astimezone(UTC) if read.tzinfo is not None else None

"""The language of data for a first boot, by its first characters, as cloud-init and Ignition tell it. Pure.

    the data begins with                          what it is                        may be combined with guestConfig
    #cloud-config, #!, #include, ... (STARTS)     a part that cloud-init reads      yes
    Content-Type:, MIME-Version:, gzip            several parts of cloud-init       no: it is an archive already
    anything else                                 Ignition                          yes, as JSON or YAML of version 3

`iri.libvirt.seed` has a table of its own, because a runtime knows no manifests. A test compares the two.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class DataFormat(Enum):
    """What reads the data."""

    NONE = "none"
    PART = "cloud-init"
    ARCHIVE = "archive of cloud-init"
    IGNITION = "Ignition"


class UserDataLanguage(NamedTuple):
    """`content_type` is cloud-init's name of a part, and empty for the rest."""

    format: DataFormat
    content_type: str = ""


# Longer starts first: the first one that fits decides.
STARTS = (
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#cloud-config", "text/cloud-config"),
    ("#!", "text/x-shellscript"),
    ("#include-once", "text/x-include-once-url"),
    ("#include", "text/x-include-url"),
    ("#cloud-boothook", "text/cloud-boothook"),
    ("#part-handler", "text/part-handler"),
    ("## template:", "text/jinja2"),
)
ARCHIVES = ("content-type:", "mime-version:")
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CLOUD_CONFIG = "text/cloud-config"


def detect_language(data: bytes) -> UserDataLanguage:
    """Of data in plain bytes, as a Secret or a manifest has it."""
    if not data:
        return UserDataLanguage(DataFormat.NONE)
    if data.startswith(GZIP):
        return UserDataLanguage(DataFormat.ARCHIVE)
    start = data.removeprefix(BYTE_ORDER_MARK).lstrip()[:32].decode("ascii", "replace").lower()
    if start.startswith(ARCHIVES):
        return UserDataLanguage(DataFormat.ARCHIVE)
    for text, content_type in STARTS:
        if start.startswith(text):
            return UserDataLanguage(DataFormat.PART, content_type)
    return UserDataLanguage(DataFormat.IGNITION)

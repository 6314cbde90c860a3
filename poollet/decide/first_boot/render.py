"""First-boot data of a machine: the user's own as it is, or with guestConfig added to it, in its language. Pure.

    data of the user's own         guestConfig beside it     the result
    any                            nothing                   the data, byte for byte
    none                           something                 a cloud-config
    a part of cloud-init           something                 both as parts of one archive
    Ignition                       something                 an Ignition config that merges the user's
    an archive of cloud-init       something                 not ready: neither can be added to the other

The user's own data is never rewritten: it may have notations and versions that this program does not know.
"""

from __future__ import annotations

from poollet.decide.first_boot.cloud_config import combine_parts, render_cloud_config
from poollet.decide.first_boot.ignition import wrap_ignition
from poollet.decide.secrets import NotReady
from schemas.model import Machine
from schemas.model.user_data import DataFormat, detect_language

REASON = "FirstBootDataNotMergeable"


def render_first_boot(machine: Machine, own: bytes) -> bytes | NotReady:
    """`own` is what userData or the Secret of ignitionRef has; empty for neither."""
    config = machine.spec.guest_config
    if not config.has_settings:
        return own
    language = detect_language(own)
    match language.format:
        case DataFormat.NONE:
            return render_cloud_config(config)
        case DataFormat.PART:
            return combine_parts(own, language.content_type, render_cloud_config(config))
        case DataFormat.ARCHIVE:
            return NotReady(
                REASON, "an archive of user data (MIME or gzip) cannot be combined with guestConfig"
            )
        case DataFormat.IGNITION:
            return wrap_own(machine, own)


def wrap_own(machine: Machine, own: bytes) -> bytes | NotReady:
    """Without a word of the data in the reason: it may be secret."""
    if machine.spec.guest_config.packages:
        return NotReady(REASON, "Ignition installs no packages: remove guestConfig.packages")
    found = wrap_ignition(machine.hostname, machine.spec.guest_config, own)
    if found is None:
        what = "the first-boot data is neither cloud-init's nor Ignition of version 3 in JSON or YAML"
        return NotReady(REASON, f"{what}, so guestConfig cannot be added to it")
    return found

"""A measurement of a host, cut to what an honest one has. Pure.

A message may have a mebibyte, and is hostile input: whoever has the key of a host chooses all of it. What is kept of two measurements, and sent to
each client that follows, has to stay small, whatever they hold. So each list, each text and each number has a bound here; what is beyond it is
left out, and the rest is shown. The bounds are above what hosts send (poollet/runtimes/usage_message.py).

    unknown fields                        dropped: they would be kept and passed on
    machines                              MOST_MACHINES, each uid once
    disks and networks of a machine       MOST_DEVICES_OF_MACHINE of each, no machine with a text that is too long
    disks and networks of the host        MOST_DEVICES_OF_HOST of each, by names that are not too long
    counters, load                        0 where they are negative or no number
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import MachineUsage, NodeUsage, Usage

MOST_MACHINES = 2000
MOST_DEVICES_OF_MACHINE, MOST_DEVICES_OF_HOST = 64, 512
LONGEST_NAME, LONGEST_UID, LONGEST_DEVICE = 253, 64, 64


def bound_usage(usage: Usage) -> Usage:
    """Another message, with nothing of this one that is beyond a bound."""
    found = Usage()
    found.time.CopyFrom(usage.time)
    if usage.HasField("node"):
        _copy_fields(usage.node, found.node, MOST_DEVICES_OF_HOST)
        found.node.load = usage.node.load if math.isfinite(usage.node.load) else 0.0
    uids: set[str] = set()
    for machine in usage.machines:
        if len(uids) == MOST_MACHINES:
            break
        if machine.uid not in uids and _is_short(machine):
            uids.add(machine.uid)
            made = found.machines.add(uid=machine.uid, namespace=machine.namespace, name=machine.name)
            _copy_fields(machine, made, MOST_DEVICES_OF_MACHINE)
    found.DiscardUnknownFields()  # of parts that were copied whole
    return found


def _is_short(machine: MachineUsage) -> bool:
    lengths = ((machine.uid, LONGEST_UID), (machine.namespace, LONGEST_NAME), (machine.name, LONGEST_NAME))
    return all(len(text) <= longest for text, longest in lengths)


def _copy_fields(given: MachineUsage | NodeUsage, made: MachineUsage | NodeUsage, most: int) -> None:
    """Numbers, processor time and devices, which both kinds of messages have."""
    made.cpu_time.CopyFrom(given.cpu_time)
    _copy_counters(given, made)
    for device in _choose(given.disks, most):
        _copy_counters(device, made.disks.add(name=device.name))
    for device in _choose(given.networks, most):
        _copy_counters(device, made.networks.add(name=device.name))


def _choose(devices: Iterable[Any], most: int) -> list[Any]:
    return [each for each in devices if len(each.name) <= LONGEST_DEVICE][:most]


def _copy_counters(given: Any, made: Any) -> None:
    for field in given.DESCRIPTOR.fields:
        if field.cpp_type == field.CPPTYPE_INT64:
            setattr(made, field.name, max(0, getattr(given, field.name)))

"""One tree that rules look at, and what they are to find in it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from schemas.validate import ValidationPolicy
from tests.schemas.validate.documents import (
    machine_class,
    network,
    together,
    volume_class,
)

DECLARED = ValidationPolicy(has_open_pools=False)
PLAIN_ALLOWED = ValidationPolicy(allows_plain_secrets=True)
TARGET = ValidationPolicy(is_target=True)
BASE = {"base.yaml": together(machine_class(), volume_class(), volume_class("grow", "ExpandOnly"), network())}
ZONE = "topology.ironcore.dev/zone"


@dataclass(frozen=True)
class Case:
    id: str
    files: dict[str, str]
    want: set[str] = field(default_factory=set)
    policy: ValidationPolicy = field(default_factory=ValidationPolicy)
    quote: str = ""  # in one of the messages or hints


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

"""What the rules need to know about the repo as a whole. Settings are read elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    has_open_pools: bool = True  # a poollet may announce pools that no file declares
    allows_plain_secrets: bool = False
    is_target: bool = False  # the branch that the reconciler writes: status and identities belong there

"""What each rule between objects finds, and what it leaves alone. `want` lists `CODE severity file pointer`."""

from __future__ import annotations

from tests.schemas.validate.guest_cases import GUEST_CASES
from tests.schemas.validate.object_cases import OBJECT_CASES
from tests.schemas.validate.policy_cases import POLICY_CASES
from tests.schemas.validate.secret_cases import SECRET_CASES
from tests.schemas.validate.spec_cases import SPEC_CASES

CASES = [*OBJECT_CASES, *GUEST_CASES, *SPEC_CASES, *POLICY_CASES, *SECRET_CASES]

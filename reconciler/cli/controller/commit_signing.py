"""Whether a commit of the API would count where only signed commits do. It is signed with the key of the reconciler, `gitvirt run --signing-key`.

    signatures.mode is enforce, and                             a call that commits
    the server has no key                                       is refused, with the option
    its key is not among signatures.signers, or not any more    is refused, with what the verifier says of it
    the source branch has a commit that does not count          is refused with that commit: what is built on it would not count either
    otherwise                                                   makes a signed commit

The settings of the last reconciled source commit decide, as in a tick: a commit that does not count must not change what counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import grpc

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import printable
from reconciler.gitstore.effective_settings import read_effective_settings
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import Commit, Sign, decode_commit, encode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Identity
from reconciler.gitstore.signatures.signers import parse_signers
from reconciler.gitstore.signatures.trust import SignatureMode, judge_head
from reconciler.gitstore.signatures.verifier import BadSignature, Verifier
from reconciler.link.client_calls import CallRefusedError

FAILED = grpc.StatusCode.FAILED_PRECONDITION
ONLY_SIGNED = "this fleet accepts only signed commits"
OR_PERSON = "or commit the change by pull request"


def refuse_unsigned(fleet: FleetRepo, sign: Sign | None, environment: Mapping[str, str]) -> None:
    """Raises CallRefusedError where the commit would not count, and SigningError where the key cannot sign now."""
    good = find_reconciled(fleet)
    settings = read_effective_settings(fleet.repo, good).settings if good else fleet.settings
    if settings is None or settings.signatures.mode != "enforce":
        return
    if sign is None:
        cure = "start `gitvirt run` with --signing-key KEY, and list its public half under signatures.signers of gitvirt.yaml"
        raise CallRefusedError(
            FAILED, f"{ONLY_SIGNED}, and this server has no key to sign; {cure}, {OR_PERSON}"
        )
    verifier, now = Verifier(parse_signers(settings.signatures.signers), environment), datetime.now(UTC)
    own = verifier.verify(encode_commit(build_sample(now), sign), now)
    if isinstance(own, BadSignature):
        cause = f"{ONLY_SIGNED}, and those of this server do not count: {printable(own.words)}"
        cure = "list the public half of its key under signatures.signers of gitvirt.yaml"
        raise CallRefusedError(FAILED, f"{cause}; {cure}, {OR_PERSON}")
    if fleet.snapshot.source is not None:
        judged = judge_head(fleet.repo, fleet.snapshot.source, good, verifier, SignatureMode.ENFORCE, now)
        if judged.is_head_refused:
            words = f"commits on the source branch do not count at present: {printable(judged.message)}"
            raise CallRefusedError(FAILED, words)


def find_reconciled(fleet: FleetRepo) -> ObjectId | None:
    """The source commit that the target branch was made of last."""
    target = fleet.snapshot.target
    return reconciled_source(decode_commit(fleet.repo.read(target))) if target is not None else None


def build_sample(now: datetime) -> Commit:
    """Signed to see whether the key counts, and stored nowhere."""
    author = Identity("gitvirt", "sample@clients.gitvirt")
    return Commit("0" * 40, (), author, now, "sample: see whether this key counts")

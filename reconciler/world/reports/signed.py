"""Whether a report is signed by one of its poollet's signers, where the fleet asks for that.

Sets three fields of the HostReport and nothing else: `judged`, the commit that was looked at; `unsigned`, what is wrong with
it; `is_refused`, whether it is not used for that. In the mode `warn` it is used, and people see a problem.

Called by `update/load_reports.py` once for each new commit of a report, and for all of them when settings change, since a
check starts a program. A check that cannot be made is a failed one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.verifier import BadSignature, CommitVerifier
from reconciler.world.reports.host_report import HostReport
from schemas.settings.fleet import FleetSettings, PoolletEntry


def judge(
    report: HostReport,
    commit: bytes,
    fleets: tuple[FleetSettings, ...],
    verifier: Callable[[Signers], CommitVerifier],
    now: datetime,
) -> None:
    """Checks the signature if the present settings or the earlier ones ask for it. A poollet without
    signers of its own needs none. `commit` is the newest of the host itself: a candidate on top of it has no key of that poollet."""
    report.judged, report.unsigned, report.is_refused = report.own_commit, "", False
    for fleet in fleets:
        signers = (fleet.poollets.get(report.name) or PoolletEntry()).signers
        if fleet.signatures.mode == "off" or not signers:
            continue
        if why := _why_not(commit, signers, verifier, now):
            report.unsigned = why
            report.is_refused |= fleet.signatures.mode == "enforce"


def _why_not(
    commit: bytes, signers: tuple[str, ...], verifier: Callable[[Signers], CommitVerifier], now: datetime
) -> str:
    try:
        verdict = verifier(parse_signers(signers)).verify(commit, now)
    except SignersError as error:
        return f"its signers cannot be read: {error.cause}"
    return (
        f"its commit is not signed as it should be: {verdict.words}"
        if isinstance(verdict, BadSignature)
        else ""
    )

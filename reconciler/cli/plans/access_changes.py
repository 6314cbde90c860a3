"""Who may connect to the link after a change of gitvirt.yaml, and who not any more, for a plan.

The reconciler's plan is about objects; a certificate or a right is none. So a plan shows these changes among its problems, as
`gitvirt validate --against` does, compared with the settings that were reconciled last.

Limits: it compares settings that can be used. While gitvirt.yaml has problems, the last usable version applies and nothing changes.
"""

from __future__ import annotations

from reconciler.cli.plans.plan_input import PlanInput
from schemas.problem import Problem
from schemas.settings.fleet import PATH
from schemas.settings.settings_file import locate_problems


def find_access_changes(seen: PlanInput) -> tuple[Problem, ...]:
    """Each is a notice, or a warning where it cuts off a host, a client or the link."""
    rules, commit = seen.world.rules, seen.world.source_commit
    file = seen.repo.file(commit, PATH) if commit and rules.is_read else None
    if file is None or not any(each.certificate_entries() for each in (rules.settings, rules.before)):
        return ()
    from schemas.settings.certificate_changes import compare_certificates

    text = seen.repo.read(file.id).decode("utf-8", "replace")
    return locate_problems(tuple(compare_certificates(rules.before, rules.settings)), PATH, text)

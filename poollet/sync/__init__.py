"""The Git side of the agent: refs in, a view of `live` and the right to report; the report out.

    git_sync (fetch) -> live_policy (verdict) -> live_index -> live_view, by live_sync for one agent
    report_lease (may this host write?) -> report_publisher (what it writes) -> git_sync (push)

Limits: it reads all that it needs of `live` and writes the report ref of its own name, no other ref. It
calls no runtime and decides nothing about objects.
"""

"""The Git side of the agent. Data passes: git_sync (fetch) -> live_policy (verdict) -> live_index -> live_view, by live_sync for
one agent; report_lease (may this host write?) -> report_publisher (what it writes) -> git_sync (push)."""

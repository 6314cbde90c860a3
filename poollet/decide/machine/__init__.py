"""One machine: what differs from its desired state (diff, update), the calls that follow (plan, removal), and its entry in the report."""

"""What a machine needs: its creation and changes (plan), the difference to the host's machine (diff), its
entry in the report (conditions), and the reuse of that entry while nothing changes (unchanged_cache)."""

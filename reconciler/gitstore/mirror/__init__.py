"""A bare copy of the remote on this disk: `mirror` writes packs into it, `mirror_check` finds out whether it is whole,
`repack` and `housekeeping` keep it small, `disk` does each write."""

"""Git's objects, from bytes to commits: `tree` and `commit` are formats, `tree_diff` and `tree_edit` work on them,
`commit_builder` makes new commits of drafts, `pack` writes objects as Git stores them, `reader` reads through a cache."""

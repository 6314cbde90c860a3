"""The way to a remote: `address` and `access` say where it is and who we are, `git_command` how git is called,
`git_transport` calls it, `git_errors` says what a failure means. `transport` is the protocol that they answer."""

"""What is to be done on this host: live and lists in, actions and the contents of the report out. Pure."""

"""What is decided and observed in, the files of the report out. Pure."""

"""The control plane: Git in, Git out. It never touches a host."""

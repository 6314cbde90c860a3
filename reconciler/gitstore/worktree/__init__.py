"""A person's own checkout: `checkout` tells its remote and who commits, `files` lists what lies on the disk, `revision` reads a
commit of it without the remote."""

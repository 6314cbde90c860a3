"""The libvirt runtime: machines, volumes and networks of this host, made real by libvirt and QEMU."""

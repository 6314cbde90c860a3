"""A libvirtd of one's own, with a small guest, for the demo and the tests.

Order: `private_libvirtd` starts `init_process` in namespaces of its own; `host_kernel` finds a kernel on this machine, `demo_guest`
and `cpio_archive` make it and a busybox into a guest that boots within seconds.
"""

"""The runtime that drives libvirt: machines are its persistent domains, volumes lie in its storage pools.

Only `connect` knows the library. `domain` and `sources` are pure. libvirt keeps all state: a machine's wish is in the
metadata of its domain, so another process, or this one after it lost everything, finds it there.
"""

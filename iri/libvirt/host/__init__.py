"""The host below the runtime: what it is, how much it offers, and whether KVM really runs guests on it.

Order: `settings` (what the operator reserves and offers), `capacity` (how many machines of a class fit; pure), `kvm_probe` (boots a
probe guest), `host` (asks libvirt, remembers, and answers the calls about the host).
"""

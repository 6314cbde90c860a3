"""The host below the runtime: what it is, how much it has to give, and whether its processor really runs guests.

`settings`, `capacity` and `proof` are pure but for `proof.Prover`; `host` asks libvirt and remembers.
"""

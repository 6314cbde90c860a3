"""Where a machine's interfaces are plugged in: bridges and networks the operator allows, and isolated ones on demand.

`rules` is what the operator allows, `asked` what a spec asks for, `ondemand` and `definition` what is made of it: all
pure. `networks` makes it so. Nothing is stored: what is there is libvirt's, what is wanted is in the machines' specs.
"""

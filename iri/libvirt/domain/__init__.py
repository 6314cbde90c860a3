"""A machine as a libvirt domain. Pure: nothing here asks libvirt or the host; what depends on them comes in as a value.

Order: `record` (what is desired, in the domain's metadata), `names` and `devices` (aliases, disk and interface elements),
`document` (the whole XML), and back: `domain_state` (what libvirt shows) and `qemu_state` (what QEMU has and libvirt lacks).
"""

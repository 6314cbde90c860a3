"""Where a machine's interfaces are plugged in: bridges and networks that the operator allows, and isolated networks on demand.

Order: `network_policy` (what the operator allows), `interface_request` (what a spec asks for, held against the policy),
`isolated_network` and `network_xml` (what is made of it): all pure. `networks` creates and removes; `host_routes` and
`stale_bridges` look at the host, `guest_addresses` learns what guests got. Nothing is stored here: libvirt has the networks, the
machines' specs say which are desired.
"""

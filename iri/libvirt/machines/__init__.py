"""The machine half of the runtime. Data passes through in this order:

    machines            calls come in: a request is checked and written into the domain's metadata
    machine_store       all machines by id: what is recorded, what libvirt shows, what the runtime lists
    event_watcher, gc   wake a machine when libvirt reports an event, or when something may have been missed
    reconcile_machine   one step of one machine towards its record: define, hotplug, resize, power, removal
    guest               what is known of one machine becomes the object that the runtime lists

The other modules are used by those: `deps` (what a step may use), `qemu_leak_repair`, `address_poller`, `consoles`,
`power_settings`.
"""

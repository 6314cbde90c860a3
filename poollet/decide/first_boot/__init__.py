"""guestConfig of a machine, and data of the user's own, as the one text that the runtime hands to the guest. Pure.

    render          which language, and what cannot be combined
    cloud_config    guestConfig → a cloud-config, alone or as one of several parts
    ignition        guestConfig → an Ignition config around that of the user

The text travels in `ignition_data` of the runtime interface, which stock providers know too. It is the same for the same machine, byte
for byte and for ever: the poollet compares it with what the machine was created with, and golden files hold it.

Limits: reads no Secret and knows no runtime. The host name travels in a field of its own, the network configuration with the interfaces.
"""

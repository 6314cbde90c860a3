"""What a guest is given at its first boot: cloud-init data, Ignition, EFI variables.

Order: `seed` decides from a machine's data what the guest gets, with `network_config`, `efi_variables` and `iso9660`: all pure. `seed_files` writes
it into the machine's folder.
"""

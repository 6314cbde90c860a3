"""What a guest is told at its first boot: cloud-init data, Ignition, EFI variables. Pure but for `files`."""

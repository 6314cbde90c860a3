"""Keys, certificates and their entries in gitvirt.yaml."""

"""Operating system images: named by path, URL or OCI reference, fetched once, verified, cached by content on this host."""

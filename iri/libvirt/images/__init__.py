"""Operating system images: named by path, URL or OCI reference, fetched once, verified, cached by content on this host.

Order: `reference` (what a spec names), `registry` and `oci_manifest` (which blobs an OCI image has), `http_fetch` (bytes into a
file), `qcow2` (whether the file may become a disk), `cache` and `digest` (kept by content), `images` (all of it behind two calls).
"""

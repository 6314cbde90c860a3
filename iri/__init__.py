"""The runtime interface, wire-compatible with IronCore's IRI. It knows no Git, no YAML and no pools."""

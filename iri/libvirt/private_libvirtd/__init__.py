"""A hypervisor of one's own with guests of one's own: what the demo shows and the tests run. No runtime needs it."""

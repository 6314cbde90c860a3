"""A machine as a libvirt domain. Pure: what is wanted in, XML out, and what libvirt says of a domain read back.

Nothing here asks libvirt or the host for anything; whatever depends on them comes in as a value.
"""

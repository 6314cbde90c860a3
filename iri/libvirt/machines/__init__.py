"""Machines made real and kept so. Each is tended by itself: look at its domain, compare it with the wish, take a step.

Nothing is remembered that a look at libvirt does not tell again, apart from waiting times. So whatever dies at whatever
moment, the next look goes on from there.
"""

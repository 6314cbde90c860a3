"""Calls that are slow or fail on request: a call in -> a delay, an error before or after its effect, or nothing.

fault_injection puts the faults around each call; fault_rules decides which fault hits it.
"""

"""The documents of one key in, what the world knows about that object out: its state, its references, and what validation finds.

Data passes: resolve (documents -> ObjectState), relations (ObjectState -> who refers to whom, what waits), validation
(objects -> errors). Knows no reports, except that an announcement can bring a pool into being.
"""

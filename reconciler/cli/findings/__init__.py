"""What `gitvirt validate` found, and the formats it is told in: for people, scripts, and CI servers.

Each format is a module with one function from an Outcome to text. None reads a file or knows a rule.
"""

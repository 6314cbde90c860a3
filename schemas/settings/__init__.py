"""Settings files: gitvirt.yaml of a fleet and poollet.yaml of a host into one frozen object each, or every problem.

`settings_file` reads and checks a file, `fleet` and `host` say what it may hold and what that means by default.
"""

"""What a simulated host knows: records in -> indexes over them, and a log on disk that survives crashes.

- records       one frozen record per object, and how each is encoded
- host_state    all records and everything computed from them: usage, addresses, attachments (a module each)
- state_log     changes in -> bytes on disk -> the same changes after a restart
"""

"""What `gitvirt validate` found, and the formats in which it is printed: for people, scripts, and CI servers.

Each format is a module with one function from a ValidationOutcome to text: `as_text` for people, `as_json` (also
for YAML), `as_junit` and `as_sarif` for CI servers, `as_github` for annotations on a pull request. `validate`
imports only the one that it needs.

Limits: none reads a file, knows a rule or decides the exit code. Text of a file reaches only `as_text`, and never
that of a file with a Secret or a private key.
"""

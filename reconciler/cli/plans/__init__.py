"""A plan for people (text), for programs (JSON), and for a comment on a pull request (markdown). Nothing is decided here."""

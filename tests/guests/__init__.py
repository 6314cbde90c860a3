"""Guests for tests: a micro guest of a kilobyte that lives in firmware mode, and a small Linux."""

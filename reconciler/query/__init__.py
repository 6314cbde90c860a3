"""Whole commits in, tables out: for verbs that run once and keep nothing between two runs."""

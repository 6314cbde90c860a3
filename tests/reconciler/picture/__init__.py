"""Tests of pictures: what viewers of the API see."""

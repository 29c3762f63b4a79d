"""Entries about what is learned, and when: staircases, leaps, single directions."""

"""Entries about the limit itself: routes to it, the equation it solves, what it can represent."""

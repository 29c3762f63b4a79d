"""Entries about the lazy regime: networks whose neurons hardly move."""

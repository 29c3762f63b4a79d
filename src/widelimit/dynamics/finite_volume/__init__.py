"""The limit on a grid: cells, what flows between them, and the steps in time."""

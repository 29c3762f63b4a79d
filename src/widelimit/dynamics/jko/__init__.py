"""The limit by minimising movements: in points, in quantiles, by entropic transport."""

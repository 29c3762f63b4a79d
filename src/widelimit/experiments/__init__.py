"""6. Named, reproducible runs."""

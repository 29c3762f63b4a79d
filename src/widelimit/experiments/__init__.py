"""7. Named, reproducible runs: spec files, records, and the runs behind the commands."""

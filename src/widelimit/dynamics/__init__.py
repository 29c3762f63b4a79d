"""3. How ρ moves: one equation per file, one driver `solve`."""

"""4. How ρ moves: one equation per file, and `solve`, the table from a method to its dynamics."""

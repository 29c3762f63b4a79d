"""Claims of the mean-field theory: networks that follow their limit, and where the limit leads."""

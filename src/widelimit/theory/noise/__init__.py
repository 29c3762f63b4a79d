"""With noise: the Gibbs law and how fast it is reached."""

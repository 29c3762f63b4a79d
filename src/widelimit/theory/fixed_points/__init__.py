"""Where the flow rests: certificates of optimality, the best network, stability."""

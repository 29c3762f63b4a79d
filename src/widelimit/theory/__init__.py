"""6. What the theorems say about ρ: the chain from SGD to the PDE, its rates and bounds, the Gibbs law."""

"""2. From a problem to its landscape: smoothed activations, reduction by symmetry, V, U, Ψ, ∇Ψ, R."""

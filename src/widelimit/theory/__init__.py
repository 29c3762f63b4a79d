"""6. What the theorems say about ρ.

gap            from SGD to the PDE: five dynamics on one coupling, rates, bounds, proof, plans
fixed_points   where the flow rests: certificates of optimality, the best network, stability
noise          the Gibbs law, and how fast it is reached
lazy           tangent kernel, linearised training, the verdict on a network
learning       what can be learned, in which order, from how many samples
approximation  how many neurons a function needs
"""

"""1. What is learned: data law, neuron, initial law, schedule, and the `Problem` that holds them.

Stating a problem needs no JAX: the modules here import it inside the functions that compute, so that
bad input is answered at once.
"""

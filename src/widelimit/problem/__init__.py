"""1. What is learned: data law, neuron, initial law, schedule, regulariser, and the `Problem` that holds them."""

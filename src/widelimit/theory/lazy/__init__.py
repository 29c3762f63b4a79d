"""The lazy regime: tangent kernel, linearised training, and the verdict on a network."""

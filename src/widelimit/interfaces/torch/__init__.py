"""Networks of PyTorch: into this library, back, and what their training was.

    from_torch      a two-layer nn.Sequential as a neuron, neurons θ and a scale α, from which a Problem is made
    to_torch        back
    learning_rate   of torch.optim.SGD, with which a module follows wl.SGD
    diagnose        any nn.Module before and after training: lazy, or feature learning?
    scale           the layer x ↦ factor·x
    TwoLayer        what from_torch returns

PyTorch is an extra, ``pip install 'widelimit[torch]'``; it is loaded when something here is first called.
"""

from widelimit.interfaces.torch.diagnosis import diagnose
from widelimit.interfaces.torch.scale_layer import scale
from widelimit.interfaces.torch.two_layer import TwoLayer, from_torch, learning_rate, to_torch

__all__ = ["TwoLayer", "diagnose", "from_torch", "learning_rate", "scale", "to_torch"]


def __dir__() -> list[str]:
    return __all__

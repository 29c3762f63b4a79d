"""Index models: labels that depend on a few directions of a Gaussian input.

    x ~ N(0, I_d),    y = φ(z) + noise · G,    z = (x_1, …, x_k)

    d   d      dimension of x, may be infinite
    k   kept   number of directions the label depends on; the first k axes, which loses no generality
    φ   link   an expression or a JAX-traceable function

Reference: [agj21].
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from widelimit.frozen import As, argument, count, nonnegative, static
from widelimit.problem.data.data_law import SAMPLES, Mixture
from widelimit.problem.data.resolved_law import ResolvedLaw
from widelimit.problem.data.target import Counts, Given, Target, check_nodes, parsed


class IndexModel(ResolvedLaw):
    """A label that depends on k directions of a Gaussian input, see `single_index` and `multi_index`."""

    inputs: ClassVar[str] = "x ~ N(0, I)"

    @property
    def mixture(self) -> Mixture:
        """One class; its labels are those of the nodes."""
        return Mixture((1.0,), (0.0,), ((int(self.d), (1.0,)),))


class SingleIndex(IndexModel):
    """y = φ(x_1) + noise · G for x ~ N(0, I_d).

    d        dimension, a whole number or ``math.inf``
    link     φ, an expression in z such as ``"He1(z) - 0.5*He3(z)"`` or a JAX-traceable function
    noise    standard deviation of the noise of the labels
    nodes    how many points stand for the law of z; if left out, as many as the link and the neurons need
    samples  draws that stand for the law where a custom neuron leaves no formula

    >>> single_index(100, "He3(z)").sentence
    'x ~ N(0, I), y = He3(z), z = x_1'
    """

    word: ClassVar[str] = "single_index"

    d: float = static()
    link: As[Given, Target] = argument(form=parsed)
    noise: float = nonnegative("0.1", default=0.0)
    nodes: int | Counts | None = static(check_nodes, default=None)
    samples: int = count("4096", default=SAMPLES)

    @cached_property
    def k(self) -> int:
        """The direction of the link."""
        return 1


class MultiIndex(IndexModel):
    """y = φ(x_1, …, x_k) + noise · G for x ~ N(0, I_d).

    d        dimension, a whole number or ``math.inf``
    k        number of directions the label depends on
    link     φ, an expression in z1, …, zk or a JAX-traceable function of an array (…, k)
    noise    standard deviation of the noise of the labels
    nodes    points for each of up to three axes, one number or one each; in all for more; if left out, none for a
             polynomial in three to six, else as many as the link and the neurons need
    samples  draws that stand for the law where a custom neuron leaves no formula

    >>> multi_index(100, 2, "sign(z1)*abs(z2)").kept
    2
    """

    word: ClassVar[str] = "multi_index"

    d: float = static()
    k: int = count("2")
    link: As[Given, Target] = argument(form=parsed)
    noise: float = nonnegative("0.1", default=0.0)
    nodes: int | Counts | None = static(check_nodes, default=None)
    samples: int = count("4096", default=SAMPLES)


single_index, multi_index = SingleIndex, MultiIndex

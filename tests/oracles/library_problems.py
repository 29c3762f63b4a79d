"""The library's side of a comparison, through its public names alone."""

import math

import numpy as np

import widelimit as wl


def problem_of(data, activation, scalars="", **options):
    """A problem with the scalars "a", "b" that are named, trained, from a start that does not matter here."""
    outer, bias = ("trained" if name in scalars else "absent" for name in "ab")
    start = wl.initial.gaussian(1.0, a=1.0 if "a" in scalars else None, b=0.0 if "b" in scalars else None)
    return wl.Problem(data, wl.neurons.ridge(activation, outer=outer, bias=bias), start, **options)


def index_model(d, link):
    """The data law of a link of the oracles."""
    if link.k == 1 and "1" not in link.text.replace("-1", "").replace("He1", ""):
        return wl.data.single_index(d, link.text, noise=link.noise)
    return wl.data.multi_index(d, link.k, link.text, noise=link.noise)


def cloud_of(landscape, theta, weights=None):
    """ρ on the rows of θ."""
    theta = np.atleast_2d(np.asarray(theta, float))
    weights = np.full(len(theta), 1 / len(theta)) if weights is None else weights
    return wl.Cloud(theta, np.asarray(weights, float), landscape.coordinates)


def numbers_of(landscape, theta, weights):
    """V, U, ∇Ψ at the points of ρ, and R(ρ)."""
    rho = cloud_of(landscape, theta, weights)
    return (
        np.asarray(landscape.V(theta)), np.asarray(landscape.U(theta, theta)),
        np.asarray(landscape.grad_psi(theta, rho)), landscape.risk(rho),
    )  # fmt: skip


def assert_numbers(found, wanted, tolerance):
    """All four agree, each to the tolerance relative to its largest entry (the risk to that of 1 + R)."""
    for name, one, two in zip(("V", "U", "gradient", "risk"), found, wanted, strict=True):
        scale = max(float(np.abs(two).max()), 1e-3) if name != "risk" else 1 + abs(two)
        np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * scale, err_msg=name)


def assert_as_stated(landscape, theta, weights, wanted, most):
    """All four lie within the error the landscape states, which is at most ``most`` of the largest entry."""
    found, stated = numbers_of(landscape, theta, weights), landscape.errors(cloud_of(landscape, theta, weights))
    for name, one, two in zip(("V", "U", "gradient", "risk"), found, wanted, strict=True):
        scale, bound = float(np.abs(two).max()), np.abs(getattr(stated, name))
        assert np.all(np.abs(one - two) <= bound + 1e-10 * scale), name
        assert np.max(bound) <= most * max(scale, 1e-3), name


def random_rows(rng, n, scalars, kept, radii):
    """Neurons in reduced coordinates: normal scalars and kept coordinates, positive radii."""
    return np.column_stack([rng.normal(size=(n, len(scalars) + kept)), np.abs(rng.normal(size=(n, radii))) + 0.05])


def random_full(rng, n, scalars, d):
    """Neurons in full coordinates, |w| about 1."""
    return np.column_stack([rng.normal(size=(n, len(scalars))), rng.normal(size=(n, d)) / math.sqrt(d)])

"""Random problems: law × activation × coordinates × size, each against brute force, and against the error it states.

For every problem the four numbers V, U, ∇Ψ and R at a random cloud are cases. A case is right if every entry lies
within the stated error (bounds; three standard errors where the law is known by a draw), rounding and the error of the
oracle aside. It is wasteful if the stated error is far larger than the true one.

Two hundred problems mean about a hundred landscapes to compile, which is nearly all of the time. So this file is also a
program, `python random_problems.py SHARE OF`: it judges its share of the problems, those that use the same compiled
functions one after the other, and prints one line of JSON for each.
"""

import gc
import json
import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from activation_table import SIGMAS
from feature_landscapes import all_corners, data_set, infinite_cube, on_the_sphere, radial_classes, two_classes
from gaussian_landscape import GaussianLandscape, GaussianLaw
from library_problems import cloud_of, index_model, numbers_of, problem_of
from link_terms import LINKS

import widelimit as wl

NAMES = ("V", "U", "gradient", "risk")
ACTIVATIONS = ("relu", "ramp", "erf", "cos", "tanh", "softplus", "gelu", "x**3 - x", "x/(1 + x**2)")
SMOOTH = tuple(name for name in ACTIVATIONS if name not in ("relu", "ramp"))
BY_K = {k: tuple(text for text, link in LINKS.items() if link.k == k) for k in (1, 2, 3)}
ROUNDING = 1e-12
TINY = 1e-15  # what is left of a number that is 0 by symmetry
N = 3


@dataclass(frozen=True)
class Case:
    """One problem: the library's side, the four numbers by brute force, and where they are asked for."""

    kind: str
    problem: wl.Problem
    own: Any
    theta: np.ndarray
    weights: np.ndarray
    exactness: float = 1e-11  # of the oracle, relative to the largest entry
    drawn: bool = False

    @cached_property
    def land(self):
        """Its landscape in the library."""
        return wl.landscape(self.problem, reduced="reduced" in self.kind)

    def judged(self):
        """For each number: the share of entries within the stated error, and stated/true where that is known."""
        found, wanted = numbers_of(self.land, self.theta, self.weights), self.own.numbers(self.theta, self.weights)
        stated = self.land.errors(cloud_of(self.land, self.theta, self.weights))
        right, ratios = {}, {}
        for name, one, two in zip(NAMES, found, wanted, strict=True):
            bound, scale = np.abs(getattr(stated, name)), float(np.max(np.abs(two))) + 1e-300
            true, slack = np.abs(np.asarray(one) - two), (ROUNDING + self.exactness) * scale + TINY
            right[name] = float(np.mean(true <= (3 if self.drawn else 1) * bound + slack))
            if true.max() > 10 * slack:
                ratios[name] = float(np.max(bound) / true.max())
        return right, ratios

    def verdict(self):
        """The same by name."""
        right, ratios = self.judged()
        return {"kind": self.kind, "drawn": self.drawn, "right": right, "ratios": ratios}


def rows(rng, columns, radii, n=N):
    """a, b, then inner columns of length about 0.3, 1 or 3; now and then a bias of 0 or a neuron beside another."""
    length = rng.choice([0.3, 1.0, 3.0])
    inner = rng.normal(size=(n, columns)) * length / math.sqrt(columns)
    inner[:, columns - radii :] = np.abs(inner[:, columns - radii :]) + 0.02
    scalars = rng.normal(size=(n, 2))
    if rng.random() < 0.3:
        scalars[:, 1] = 0.0
    if rng.random() < 0.2:
        inner[1] = inner[0] * (1 + 1e-3 * rng.random(columns))
    return np.column_stack([scalars, inner])


def built(kind, data, name, own, theta, rng, **facts):
    weights = rng.dirichlet(np.ones(len(theta)))
    return Case(f"{kind}, {name}, {data!r}", problem_of(data, name, "ab"), own, theta, weights, **facts)


def spread(delta, *rest):
    return tuple((p, y, (tau, *rest)) for p, y, tau in two_classes(delta))


def classes_reduced(rng, dimensions=(20, 40, 100, math.inf), names=ACTIVATIONS):
    d, delta, name = rng.choice(dimensions), round(rng.uniform(0.1, 0.9), 3), str(rng.choice(names))
    d = math.inf if math.isinf(d) else int(d)
    own = radial_classes(SIGMAS[name], d, two_classes(delta), "ab", points=40)
    kinked = name in ("relu", "ramp")  # a kink beyond the reach of |x| leaves a trace in the rule of lengths
    return built("classes reduced", wl.data.gaussian_classes(d, delta), name, own, rows(rng, 1, 1), rng,
                 exactness=1e-8 if kinked and d < 30 else 1e-11)  # fmt: skip


def classes_full(rng, dimensions=(3, 5), names=ACTIVATIONS):
    d, delta, name = int(rng.choice(dimensions)), round(rng.uniform(0.1, 0.9), 3), str(rng.choice(names))
    informative = None if rng.random() < 0.5 or dimensions == (3,) else 2
    law = GaussianLaw((d,), spread(delta)) if informative is None else GaussianLaw((2, d - 2), spread(delta, 1.0))
    own = GaussianLandscape(law, SIGMAS[name], "ab", reduced=False)
    return built("classes full", wl.data.gaussian_classes(d, delta, informative), name, own, rows(rng, d, 0), rng)


def anisotropic_reduced(rng):
    one, two = (int(x) for x in rng.choice([20, 35], size=2))
    delta, name = round(rng.uniform(0.1, 0.9), 3), str(rng.choice(("relu", "erf", "cos")))
    own = GaussianLandscape(GaussianLaw((one, two), spread(delta, 1.0)), SIGMAS[name], "ab")
    data = wl.data.gaussian_classes(one + two, delta, one)
    return built("anisotropic reduced", data, name, own, rows(rng, 2, 2, n=2), rng, exactness=1e-9)


def index(k, reduced):
    def draw(rng):
        name = str(rng.choice(ACTIVATIONS if k < 3 else ("relu", "tanh", "softplus")))
        link = LINKS[str(rng.choice([t for t in BY_K[k] if t != "sign(z1)*abs(z2)"]))]
        d = k + int(rng.choice([9, 25])) if reduced else k + 2
        if reduced and k == 1 and rng.random() < 0.3:
            d = math.inf
        own = GaussianLandscape(GaussianLaw((d - k,), link=link), SIGMAS[name], "ab", reduced)
        theta = rows(rng, k + 1 if reduced else d, int(reduced), n=2 if reduced else N)
        kind = f"index {k} {'reduced' if reduced else 'full'}"
        return built(kind, index_model(d, link), name, own, theta, rng, exactness=1e-10 if reduced else 1e-11)

    return draw


def cube_reduced(rng):
    k, name = int(rng.choice([2, 3])), str(rng.choice(ACTIVATIONS))
    text = "*".join(f"z{i + 1}" for i in range(k)) + " + 0.5*z1"

    def target(z):
        return z.prod(axis=1) + 0.5 * z[:, 0]

    own = infinite_cube(SIGMAS[name], k, target, "ab")
    return built("cube reduced", wl.data.hypercube(math.inf, text), name, own, rows(rng, k + 1, 1), rng)


def cube_full(rng):
    d, name = int(rng.choice([3, 7])), str(rng.choice(ACTIVATIONS))
    x = all_corners(d)
    own = data_set(SIGMAS[name], x, x[:, 0] * x[:, 1] - x[:, 0], "ab")
    theta = rows(rng, d, 0)
    data = wl.data.hypercube(d, "z1*z2 - z1", samples=2048 + 64 * int(rng.integers(16)))  # a draw of its own each
    return built("cube full", data, name, own, theta, rng, drawn=True)


def sphere_reduced(rng):
    d, name = int(rng.choice([6, 15])), str(rng.choice(SMOOTH))
    link = LINKS[str(rng.choice(["z", "He2(z)", "sign(z)", "z1*z2", "z1 + z1*z2"]))]
    own = on_the_sphere(SIGMAS[name], d, link, "ab")
    return built("sphere reduced", wl.data.sphere(d, link.text), name, own, rows(rng, link.k + 1, 1), rng)


def empirical_full(rng, names=ACTIVATIONS):
    x, y, name = rng.normal(size=(20, 3)), rng.normal(size=20), str(rng.choice(names))
    own = data_set(SIGMAS[name], x, y, "ab")
    return built("empirical full", wl.data.empirical(x, y), name, own, rows(rng, 3, 0), rng)


KINDS = {
    classes_reduced: 35, classes_full: 30, anisotropic_reduced: 7, index(1, True): 32, index(2, True): 18,
    index(3, True): 10, index(1, False): 16, index(2, False): 12, index(3, False): 6, cube_reduced: 14, cube_full: 8,
    sphere_reduced: 8, empirical_full: 4,
}  # fmt: skip
ORDER = [draw for draw, count in KINDS.items() for _ in range(count)]
TURNS = np.random.default_rng(2024).permutation(len(ORDER))


def case(number):
    return ORDER[TURNS[number]](np.random.default_rng(1000 + number))


def share_of(part, parts):
    """Numbers of the problems of one share: whole groups of a kind and an activation, in the order of their names."""
    kinds = {number: case(number).kind for number in range(len(ORDER))}
    groups = sorted({tuple(kind.split(", ")[:2]) for kind in kinds.values()})
    mine = set(groups[part::parts])
    return sorted((n for n, kind in kinds.items() if tuple(kind.split(", ")[:2]) in mine), key=lambda n: (kinds[n], n))


def main(part, parts):
    """Judge one share; different kinds share no compiled functions, and those of all would fill the memory."""
    last = None
    for problem in map(case, share_of(part, parts)):
        kind = problem.kind.split(", ")[0]
        if kind != last:
            jax.clear_caches()
            gc.collect()
        print(json.dumps(problem.verdict()), flush=True)
        last = kind


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Wells far from where a law starts: the Gibbs law finds them, and certificates of cooling bound them.

The reference is written here from scratch. With σ a ramp from (a, 0) to (b, h), slope m = h/(b − a), and class c of
standard deviation τ_c, the coefficients A_k(s) = E σ(s g) h_k(g) are

    A_0 = m [(s φ(a/s) − a Φ(−a/s)) − (s φ(b/s) − b Φ(−b/s))]
    A_k = m s [φ(a/s) h_{k−2}(a/s) − φ(b/s) h_{k−2}(b/s)]/√(k(k − 1))                     by parts, twice

and for a law of radii r, isotropic in every group of directions, f² has the mean Σ_k Σ_{k_1 + k_2 = k} of
k!/(k_1! k_2!) M_{k_1}(d_1) M_{k_2}(d_2) (∫ A_k(s) (τ r_1/s)^{k_1} (r_2/s)^{k_2} dρ)², M_k(d) the mean of cos^k. The
dual is maximised by scipy on a plain grid.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import eval_hermitenorm, logsumexp
from scipy.stats import norm

import widelimit as wl
from widelimit.theory.noise.far_field import Field, Rays

TAUS, LABELS = (1.8, 0.2), np.array([1.0, -1.0])
START = wl.initial.gaussian(1.0)


def coefficient(k, s, a, b, h):
    slope = h / (b - a)
    if k == 0:
        ends = [s * norm.pdf(x / s) - x * norm.cdf(-x / s) for x in (a, b)]
    else:
        scale = s / math.sqrt(math.factorial(k))  # h_{k−2}/√(k(k−1)) = He_{k−2}/√k!
        ends = [scale * norm.pdf(x / s) * eval_hermitenorm(k - 2, x / s) for x in (a, b)]
    return slope * (ends[0] - ends[1])


def moment(k, d):
    return math.prod((2 * i + 1) / (d + 2 * i) for i in range(k // 2))


def features(radii, dimensions, ramp, highest):
    """√(½ weight) Φ at rows of radii, (n, Q), and √½ y."""
    columns, labels = [], []
    for tau, y in zip(TAUS, LABELS, strict=True):
        parts = radii * np.array([tau, 1.0])[: radii.shape[1]]
        s = np.maximum(np.linalg.norm(parts, axis=1), 1e-12)
        for k in range(0, highest + 1, 2):
            values = coefficient(k, s, *ramp)
            for first in range(0, k + 1, 2) if len(dimensions) == 2 else (k,):
                orders = (first, k - first)[: len(dimensions)]
                weight = math.factorial(k) / math.prod(map(math.factorial, orders))
                weight *= math.prod(moment(j, d) for j, d in zip(orders, dimensions, strict=True))
                shares = np.prod([(p / s) ** j for p, j in zip(parts.T, orders, strict=True)], axis=0)
                columns.append(math.sqrt(weight / 2) * values * shares)
                labels.append(y / math.sqrt(2) if k == 0 else 0.0)
    return np.stack(columns, axis=1), np.array(labels)


def reference(ramp, ridge, beta, dimensions=(40,), highest=24, grid=(16.0, 2e-3)):
    """R and F of the Gibbs law on a plain grid, β reached in steps of 10."""
    side = np.arange(grid[1] / 2, grid[0], grid[1])
    radii = np.stack([x.ravel() for x in np.meshgrid(*[side] * len(dimensions), indexing="ij")], axis=1)
    phi, y = features(radii, dimensions, ramp, highest)
    log_volume = sum(
        math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2) + (d - 1) * np.log(r) + math.log(grid[1])
        for d, r in zip(dimensions, radii.T, strict=True)
    )
    penalty, v = ridge / 2 * (radii**2).sum(axis=1), np.zeros(len(y))
    for now in [b for b in (1e2, 1e3, 1e4) if b < beta] + [beta]:

        def law(v, now=now):
            e = log_volume - now * (phi @ v + penalty)
            total = logsumexp(e)
            return np.exp(e - total), total

        def value(v, now=now):
            return law(v)[1] / now + v @ y + v @ v / 2

        def slope(v):
            return y + v - law(v)[0] @ phi

        def curvature(v, now=now):
            weights = law(v)[0]
            centred = (phi - weights @ phi) * np.sqrt(weights)[:, None]
            return np.eye(len(v)) + now * centred.T @ centred

        v = minimize(value, v, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}).x
    return float(((law(v)[0] @ phi - y) ** 2).sum()), -value(v)


def problem(ramp, ridge, beta=math.inf, d=40, informative=None):
    a, b, h = ramp
    data = wl.data.gaussian_classes(d, 0.8, informative)
    return wl.Problem(data, wl.neurons.ridge(wl.activations.ramp((a, 0), (b, h))), START, ridge=ridge, beta=beta)


WELLS = [((8, 9, 30), 1e3), ((8, 9, 30), 1e4), ((12, 13, 60), 1e4)]
WELLS = [((5, 6, 20), 1e4), *(pytest.param(*well, marks=pytest.mark.slow) for well in WELLS)]


@pytest.mark.parametrize(("ramp", "beta"), WELLS)
def test_a_well_far_away_holds_its_share_of_the_mass(ramp, beta):
    """The law of exp(−βλ|θ|²/2), where the search begins, lies at r = 0.6 for β = 10³ and at 0.2 for 10⁴."""
    law = wl.gibbs(problem(ramp, 0.1, beta))
    risk, free_energy = reference(ramp, 0.1, beta)
    assert law.risk == pytest.approx(risk, abs=1e-6) and law.free_energy == pytest.approx(free_energy, abs=1e-9)
    assert law.risk < 0.9 and 0 <= law.gap < 1e-12
    assert 0.01 < law.rho.weights[law.rho.column("r") > 2.0].sum() < 0.99
    edges, values = law.density("r")
    assert values @ np.diff(edges) == pytest.approx(1, abs=1e-3) and np.any(values == 0)


@pytest.mark.slow
def test_a_well_far_away_in_two_coordinates():
    law = wl.gibbs(problem((8, 9, 30), 0.1, 1e4, d=400, informative=200))
    risk, free_energy = reference((8, 9, 30), 0.1, 1e4, (200, 200), highest=8, grid=(6.0, 0.03))
    assert law.risk == pytest.approx(risk, abs=1e-7) and law.free_energy == pytest.approx(free_energy, abs=1e-9)
    assert law.risk < 0.6 and 0 <= law.gap < 1e-12


def lowest_of_two_atoms(ramp, ridge):
    """min E over a mass q at r and the rest at 0: a parabola in q for every r."""
    _, y = features(np.ones((1, 1)), (40,), ramp, 24)

    def energy(r):
        phi = features(np.array([[r]]), (40,), ramp, 24)[0][0]
        q = np.clip((phi @ y - ridge / 2 * r * r) / (phi @ phi), 0, 1)
        return ((q * phi - y) ** 2).sum() / 2 + q * ridge / 2 * r * r

    coarse = np.linspace(0.5, 12, 200)
    near = coarse[np.argmin([energy(r) for r in coarse])]
    return float(minimize_scalar(energy, bounds=(near - 0.1, near + 0.1), method="bounded").fun)


@pytest.mark.more
@pytest.mark.parametrize("ramp", [(5, 6, 20), (8, 9, 30), (12, 13, 60)])
def test_certificates_of_cooling_bound_what_two_atoms_reach(ramp):
    cold, reached = wl.cooling(problem(ramp, 0.1), [1e2, 1e4]), lowest_of_two_atoms(ramp, 0.1)
    assert reached < 0.45 and reached - 0.01 < cold.lowest <= reached
    assert np.all(cold.certificate >= cold.energy - reached) and np.all(cold.energy > reached)


def field_of(activation, outer, ridge=0.2):
    start = wl.initial.gaussian(1.0, a=wl.initial.normal() if outer == "trained" else None)
    neuron = wl.neurons.ridge(activation, outer=outer)
    case = wl.Problem(wl.data.gaussian_classes(40, 0.8), neuron, start, ridge=ridge, beta=50.0)
    return case, Field(wl.landscape(case, reduced=True), 50.0)


@pytest.mark.parametrize(("activation", "outer"), [("relu", "absent"), ("erf", "absent"), ("erf", "trained")])
def test_beyond_the_reach_there_is_less_mass_than_said(activation, outer):
    """Residuals of length 1, on a plain grid as far again; what is largest lies inside."""
    _, field = field_of(activation, outer)
    rays, k, rng = Rays(field), len(field.signed), np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(size=len(field.land.fit.p))
        v /= np.linalg.norm(v)
        length, log_tail = rays.reach(v)
        side = np.linspace(0, 2 * length, 101)[1:] - length / 100
        axes = [np.concatenate([-side[::-1], side]) if sign else side for sign in field.signed]
        theta = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
        e = field.exponent(theta, v[:, None])[:, 0] + k * math.log(length / 50)
        outside = np.abs(theta).max(axis=1) > length
        assert logsumexp(e[outside]) < log_tail < logsumexp(e[~outside]) - 30


@pytest.mark.more
def test_where_nothing_bounds_the_reach_the_field_itself_is_followed():
    """|a| r grows as fast as |θ|²: the law on cells, whose error is that of a plain grid, says the same."""
    case, field = field_of("relu", "trained")
    length = Rays(field).reach(np.ones(len(field.land.fit.p)))
    law, edges = wl.gibbs(case), (np.linspace(-4, 4, 121), np.linspace(0, 6, 121))
    cells = wl.Density(edges, np.full((120, 120), 120.0**-2), ("a", "r"), (None, 40.0))
    assert length is None and law.gap < 1e-12
    assert wl.gibbs(case, on=cells).free_energy == pytest.approx(law.free_energy, abs=1e-3)


def test_a_regulariser_that_leaves_a_coordinate_free_is_refused():
    case = wl.Problem(
        wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge("tanh"), START, ridge=0.1, beta=10.0,
        regulariser=wl.regularisers.squares(w=0.0),
    )  # fmt: skip
    with pytest.raises(wl.InputError, match=r"must grow with every coordinate .*, got .*: give every block a weight"):
        wl.gibbs(case)

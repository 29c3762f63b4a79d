"""Two Gaussian classes with noise after a long time: neurons, the PDE on a grid, JKO and the Gibbs law give one number.

Stated errors. SGD: bias of order ε d and 1/N. GD in reduced coordinates: bias of order ε and 1/N. Both have the
standard error of N neurons. FiniteVolume: h². JKO: the pieces. Gibbs: none. Half the noise, √(2 s/β) instead of
√(4 s/β), is the law at 2β, and every route must see the difference.
"""

import math

import numpy as np
import pytest

import widelimit as wl

RIDGE, BETA, D = 0.2, 50.0, 40


def problem(beta=BETA):
    return wl.Problem(
        wl.data.gaussian_classes(D, 0.8), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0), ridge=RIDGE, beta=beta
    )


@pytest.fixture(scope="module")
def laws():
    return {"right": wl.gibbs(problem()), "half the noise": wl.gibbs(problem(2 * BETA))}


def numbers(rho, risk):
    r = rho.column("r")
    return np.array([risk, float(rho.mean(r)), float(rho.mean(r**2))])


def agree(measured, law, allowed):
    return bool(np.all(np.abs(measured - numbers(law.rho, law.risk)) <= allowed))


def particles(method, times):
    """Risk, E r and E r² over the times kept, and the standard error of each."""
    run = wl.solve(problem(), method, times[-1], save=times, progress=False)
    kept = slice(len(run.times) - len(times), None)
    r = run.dataset["theta"].sel(coordinate="r").values[kept]
    rows = np.stack([run.risk[kept], r.mean(axis=1), (r**2).mean(axis=1)], axis=1)
    spread = np.array([rows[:, 0].std() + 1e-12, r.std() / math.sqrt(r[0].size), (r**2).std() / math.sqrt(r[0].size)])
    return rows.mean(axis=0), spread


ROUTES = {
    # method, times, bias of the method in risk, E r, E r²
    "GD": (wl.GD(2000, 1e-2, "reduced"), [12.0, 14.0, 16.0], (0.01, 0.01, 0.04)),
    "SGD": (wl.SGD(1000, 5e-4), [12.0, 13.0, 14.0], (0.06, 0.03, 0.15)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTES)
def test_noisy_neurons_come_to_rest_at_the_gibbs_law_and_not_at_that_of_half_the_noise(name, laws):
    method, times, bias = ROUTES[name]
    measured, spread = particles(method, times)
    allowed = 4 * spread + np.array(bias)
    assert agree(measured, laws["right"], allowed)
    assert not agree(measured, laws["half the noise"], allowed)
    assert abs(measured[2] - numbers(laws["half the noise"].rho, 0.0)[2]) > 4 * allowed[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "t_end", "allowed"),
    [(wl.FiniteVolume(400), 20.0, (2e-5, 1e-4, 5e-4)), (wl.JKO(1.0), 20.0, (1e-4, 1e-3, 2e-3))],
    ids=["FiniteVolume", "JKO"],
)
def test_the_noisy_limit_comes_to_rest_at_the_gibbs_law_and_not_at_that_of_half_the_noise(method, t_end, allowed, laws):
    run = wl.solve(problem(), method, t_end, save=2)
    measured = numbers(run.final, run.risk[-1])
    assert agree(measured, laws["right"], np.array(allowed))
    assert not agree(measured, laws["half the noise"], 100 * np.array(allowed))

"""Statistics chosen freely are integrals against the weights."""

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.observables import average, mass, moment, quantile, summary, variance

CLOUD = wl.Cloud(
    np.array([[1.0, 5.0], [4.0, 6.0], [2.0, 7.0], [9.0, 9.0]]), np.array([0.25, 0.5, 0.25, 0.0]), ("r", "a")
)


def test_an_average_is_a_weighted_sum_of_one_or_many_values():
    assert average(lambda theta: theta[:, 0] * theta[:, 1])(CLOUD) == 0.25 * 5 + 0.5 * 24 + 0.25 * 14
    np.testing.assert_array_equal(average(lambda theta: theta)(CLOUD), [2.75, 6.0])
    assert average(lambda theta: jnp.sum(theta, axis=1))(CLOUD) == 8.75
    assert average(lambda theta: theta[:, 0] ** 2)(CLOUD) == moment("r", 2)(CLOUD)


def test_the_mass_of_a_set_is_the_weight_inside():
    assert mass(lambda theta: theta[:, 0] > 1.5)(CLOUD) == 0.75
    assert mass(lambda theta: theta[:, 1] > 100)(CLOUD) == 0.0


def test_the_variance_is_weighted_and_the_summary_shows_its_root():
    assert variance("r")(CLOUD) == 0.25 * 1.75**2 + 0.5 * 1.25**2 + 0.25 * 0.75**2
    assert summary(CLOUD)["r"] == (2.75, np.sqrt(variance("r")(CLOUD)))


def test_a_quantile_is_the_first_point_that_reaches_its_level():
    levels = (0.0, 0.25, 0.26, 0.5, 0.51, 1.0)
    np.testing.assert_array_equal(quantile("r", levels)(CLOUD), [1, 1, 2, 2, 4, 4])
    assert quantile("r", 0.5)(CLOUD) == 2.0


def test_quantiles_of_equal_weights_do_not_slip_by_rounding():
    for n in (10, 49, 1000):
        cloud = wl.Cloud(np.arange(n, dtype=float)[:, None], np.full(n, 1 / n), ("r",))
        np.testing.assert_array_equal(quantile("r", (np.arange(n) + 1) / n)(cloud), np.arange(n))
    ten = wl.Cloud(np.arange(10.0)[:, None], np.full(10, 0.1), ("r",))
    assert quantile("r", 0.1 + 0.2)(ten) == 2.0  # a little above 0.3


def test_statistics_observe_a_run():
    square = wl.neurons.ridge(wl.activations.polynomial([0.2, 0.5, 0.3]))
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), square, wl.initial.gaussian(1.0))
    observers = {"median": quantile("r", 0.5), "large": mass(lambda theta: theta[:, 0] > 1.0), "var": variance("r")}
    observers["both"] = average(lambda theta: np.stack([theta[:, 0], theta[:, 0] ** 2], axis=1))
    solution = wl.solve(problem, wl.MeanField(50), 0.1, save=2, observers=observers)
    for name, observer in observers.items():
        np.testing.assert_array_equal(solution.dataset[name].values[-1], observer(solution.at(0.1)))


REFUSED = {
    "average of a word": (lambda: average("r"), "function of the array"),
    "average of one number": (lambda: average(lambda theta: theta[0, 0])(CLOUD), "\\(n,\\) or \\(n, k\\) numbers"),
    "average over columns": (lambda: average(lambda theta: theta.T)(CLOUD), "here n = 4"),
    "average of words": (lambda: average(lambda theta: ["x"] * 4)(CLOUD), "numbers"),
    "mass of numbers": (lambda: mass(lambda theta: theta[:, 0])(CLOUD), "true or false"),
    "mass of nothing": (lambda: mass(None), "function of the array"),
    "variance of an unknown": (lambda: variance("w")(CLOUD), "known are a, r"),
    "quantile beyond 1": (lambda: quantile("r", 1.5), "in \\[0, 1\\], got 1.5"),
    "quantile of a word": (lambda: quantile("r", "half"), "in \\[0, 1\\]"),
    "quantile of none": (lambda: quantile("r", []), "one or more levels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(wl.InputError, match=sentence) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 300

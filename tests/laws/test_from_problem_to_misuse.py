"""Where a user errs, or the mathematics has an edge: one sentence, or the right limit."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl


def problem(neuron=None, d=40, **fields):
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.5),
        neuron or wl.neurons.ridge("sin"),
        fields.pop("initial", wl.initial.gaussian(1.0)),
        **fields,
    )


@pytest.mark.more
def test_mass_that_reaches_the_origin_of_a_cone_stays_there():
    neuron = wl.neurons.ridge("relu", outer="fixed")
    cone = problem(neuron, initial=wl.initial.gaussian(1.0, a=wl.initial.signs()))
    limit = wl.solve(cone, wl.MeanField(20), t_end=5.0, save=[0.0, 4.0, 5.0])
    r = limit.dataset["theta"].sel(coordinate="r").values
    assert r.min() >= 0 and (r[-1] < 1e-6).any() and (r[-1] > 0.5).any()
    assert (np.diff(limit.risk) < 0).all()


@pytest.mark.slow
def test_the_given_derivative_is_used_by_the_finite_network_and_by_the_limit():
    still = wl.activations.custom(jnp.tanh, derivative=lambda x: 0 * x)
    start = problem(wl.neurons.ridge(still))
    for method in (wl.SGD(5, 0.01), wl.MeanField(5)):
        moved = wl.solve(start, method, t_end=0.05, save=2).dataset["theta"].values
        np.testing.assert_array_equal(moved[0], moved[-1])


@pytest.mark.slow
def test_one_observer_serves_every_dynamics():
    second = wl.observables.moment("r", 2)
    for method in (wl.SGD(5, 0.01), wl.MeanField(5)):
        record = wl.solve(problem(), method, t_end=0.05, save=2, observers={"m2": second}).dataset
        weights = record["weights"].values if "weights" in record else None
        mean = np.average(record["theta"].values[0][:, 0] ** 2, weights=weights)
        assert record["m2"].values[0] == pytest.approx(mean)


def test_the_run_goes_to_t_end_whatever_is_saved_and_never_beyond():
    assert wl.solve(problem(), wl.MeanField(5), t_end=0.1, save=[0.0, 0.02]).times.tolist() == [0.0, 0.02, 0.1]
    assert wl.solve(problem(), wl.SGD(5, 0.06), t_end=0.1, save=[0.07]).times.tolist() == [0.06, 0.1]


@pytest.mark.more
def test_a_schedule_infinite_at_0_starts_with_its_average():
    known = wl.solve(problem(schedule=wl.schedules.power(0.25)), wl.SGD(5, 0.01), t_end=0.1, save=2)
    given = wl.solve(problem(schedule=lambda t: t**-0.25), wl.SGD(5, 0.01), t_end=0.1, save=2)
    np.testing.assert_allclose(known.final.theta, given.final.theta, rtol=0, atol=1e-9)


REFUSED = {
    "numpy activation": lambda: wl.landscape(problem(wl.neurons.ridge(np.tanh))),
    "constant activation": lambda: wl.landscape(problem(wl.neurons.ridge(lambda x: 1.0))),
    "jump at a kink": lambda: wl.landscape(
        problem(wl.neurons.ridge(wl.activations.custom(lambda x: jnp.where(x > 0.5, 1.0, 0.0), kinks=[0.5]))),
        reduced=True,
    ).V([[1.0]]),
    "negative schedule": lambda: wl.solve(problem(schedule=lambda t: -1.0 + 0 * t), wl.SGD(5, 0.01), 0.1),
    "untraceable schedule": lambda: wl.solve(problem(schedule=math.exp), wl.SGD(5, 0.01), 0.1),
    "infinite dimension for SGD": lambda: wl.solve(problem(d=math.inf), wl.SGD(5, 0.01), 0.1),
    "full keep of a reduced run": lambda: wl.solve(problem(), wl.MeanField(5), 0.1, keep="full"),
    "observer that is no function": lambda: wl.solve(problem(), wl.SGD(5, 0.01), 0.1, observers={"x": 3}),
    "observer of words": lambda: wl.solve(problem(), wl.SGD(5, 0.01), 0.1, observers={"x": wl.observables.summary}),
    "tolerance of 1": lambda: wl.landscape(problem(), tolerance=1.0),
    "landscape of a word": lambda: wl.landscape("x"),
    "reduce of a narrow array": lambda: wl.reduce(problem(), np.ones((2, 3))),
    "reduce at infinite dimension": lambda: wl.reduce(problem(d=math.inf), np.ones((2, 3))),
    "polynomial of a number": lambda: wl.activations.polynomial(3),
    "kinks as a number": lambda: wl.activations.custom(jnp.tanh, kinks=0.0),
    "knots as numbers": lambda: wl.activations.piecewise_linear([1, 2]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        REFUSED[name]()
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 400


@pytest.mark.slow
def test_parallel_wide_tanh_neurons_are_right_within_the_stated_error():
    wide = jnp.asarray([[20.0, 0.0], [20 * math.cos(0.02), 20 * math.sin(0.02)]])
    wide_tanh = problem(wl.neurons.ridge("tanh"), d=2)
    landscape = wl.landscape(wide_tanh)
    x, y = wide_tanh.data.sample(jax.random.key(0), 400_000, float)
    squares = (y - jnp.tanh(x @ wide.T).mean(axis=1)) ** 2
    error = landscape.risk_error(wide) + 4 * float(squares.std()) / math.sqrt(len(y))
    assert abs(landscape.risk(wide) - float(squares.mean())) < error < 0.02

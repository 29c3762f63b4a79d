"""Exponents of the gap: the fit itself, and the laws of theory."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.theory.gap import bounds
from widelimit.theory.gap.rates import slope, summarise


def classes(d=40, delta=0.8, scale=0.8):
    return wl.Problem(
        wl.data.gaussian_classes(d, delta), wl.neurons.ridge(wl.activations.ramp()), wl.initial.gaussian(scale)
    )


def test_the_slope_of_a_power_law_is_its_exponent():
    x = np.array([10.0, 30.0, 100.0])
    np.testing.assert_allclose(slope(x, np.stack([7 * x**-0.5, 0.1 * x**2])), [-0.5, 2.0], rtol=1e-12)


def test_spread_bias_and_size_are_what_they_say():
    numbers = np.array([1.0, 2.0, 6.0])
    assert summarise("risk spread", numbers) == pytest.approx(np.std(numbers, ddof=1))
    assert summarise("risk bias", -numbers) == pytest.approx(3.0)
    assert summarise("distance", numbers) == pytest.approx(math.sqrt(41 / 3))


@pytest.fixture(scope="module")
def over_step():
    p = wl.Problem(wl.data.gaussian_classes(12, 0.8), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.8))
    return wl.rates(p, "step", [0.0005, 0.001, 0.002], n=10, t_end=0.02, replicas=6, chain=("PD", "GD"))


@pytest.mark.slow
def test_euler_steps_have_order_one(over_step):
    value, low, high = over_step.exponent("PD–GD", "distance")
    assert low - 0.03 < 1 < high + 0.03 and value == pytest.approx(1, abs=0.05)  # 0.03: the next order, ε/2 of it


@pytest.mark.more
def test_the_table_sets_theory_beside_the_measurement(over_step):
    rows = {row["quantity"]: row for row in over_step.table()}
    assert rows["distance"]["theory"] == 1.0 and "W2" not in rows
    assert rows["distance"]["low"] <= rows["distance"]["exponent"] <= rows["distance"]["high"]
    assert "PD–GD distance" in repr(over_step)


@pytest.mark.more
def test_the_figure_of_rates_shows_the_exponents(over_step):
    (axes,) = wl.figure(over_step).axes
    assert axes.get_xscale() == axes.get_yscale() == "log" and "varepsilon" in axes.get_xlabel()
    exponent = over_step.exponent("PD–GD", "distance")[0]
    assert any(f"{exponent:+.2f}" in text.get_text() for text in axes.get_legend().get_texts())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"over": "m"}, "unknown variable 'm'"),
        ({"values": [1, 2]}, "three or more positive numbers"),
        ({"replicas": 2}, "at least 4 replicas"),
        ({"over": "d", "problem": wl.Problem(wl.data.gaussian_classes(9, 0.5, 3), wl.neurons.ridge("ramp"),
                                             wl.initial.gaussian(1.0))}, "isotropic classes"),
    ],
)  # fmt: skip
def test_misuse_is_answered_in_one_sentence(change, sentence):
    arguments = {"problem": classes(), "over": "n", "values": [10, 20, 40], **change}
    with pytest.raises(wl.InputError, match=sentence):
        wl.rates(**arguments)


def test_the_bounds_have_the_shape_of_the_theorems():
    assert bounds.general(100, 1e-4, 40) == pytest.approx(0.1 * math.sqrt(40 + math.log(1e6)))
    assert bounds.general(10**6, 1e-2, 40, z=1.0) == pytest.approx(0.1 * (math.sqrt(40 + math.log(1e8)) + 1))
    width, size = bounds.dimension_free(10_000, 1e-4, 50)
    assert (width, size) == pytest.approx((math.sqrt(math.log(1e4)) / 100, 0.01 * math.sqrt(50 + math.log(1e4))))
    assert bounds.sampling(200, z=1.0) == pytest.approx(0.1)


@pytest.mark.slow
def test_sampling_and_evolving_commute_for_wide_networks():
    """Means of the risk differ by O(1/N): within 4 standard errors plus 5/N at N = 200; both scatter like N^(−1/2)."""
    p = wl.Problem(wl.data.gaussian_classes(20, 0.8), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.8))
    table = wl.commute(p, n=200, t_end=0.5, replicas=24, save=2)
    one, two = (table.sel(route=r, statistic="risk").isel(time=-1) for r in table["route"].values)
    error = math.hypot(one["mean_stderr"], two["mean_stderr"])
    assert abs(float(one["mean"] - two["mean"])) < 4 * error + 5 / 200
    assert 0 < float(one["n_var"]) < 100 and 0 < float(two["n_var"]) < 100

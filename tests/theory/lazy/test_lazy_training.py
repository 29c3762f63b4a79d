"""Lazy training: orders in α, the relative scale, the lemmas, and the verdict."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.solving.streams import stream
from widelimit.theory.lazy.verdict import Verdict, alignment, kernel_moves, share_missed

ROWS = np.random.default_rng(0).normal(size=(8, 4))
TARGET = np.tanh(ROWS[:, 0]) * ROWS[:, 1]
PLAIN = wl.initial.gaussian(1.0, a=wl.initial.normal(0.0, 1.0))
NEURON = wl.neurons.ridge("tanh", "trained")


def centred(alpha, n=12):
    """A network whose first residual does not depend on α, without pairs: f(θ_0) is added to the labels."""
    data = wl.data.empirical(ROWS, TARGET)
    problem = wl.Problem(data, NEURON, PLAIN)
    theta = np.asarray(problem.sample_initial(stream(0, "initial"), n))
    first = alpha * (np.tanh(ROWS @ theta[:, 1:].T) @ theta[:, 0]) / n
    return wl.Problem(wl.data.empirical(ROWS, TARGET + first), NEURON, wl.initial.array(theta), alpha=alpha)


def orders(build, scales, t_end, n=12):
    """The exponents of moved, apart and missed in α."""
    runs = [wl.linearise(build(alpha), n, t_end, save=2) for alpha in scales]
    logs = [[math.log(run.last(name)) for run in runs] for name in ("moved", "apart", "missed")]
    return [np.polyfit(np.log(scales), values, 1)[0] for values in logs]


@pytest.mark.slow
def test_distances_to_the_tangent_model_have_their_orders_in_the_scale():
    found = orders(centred, (8.0, 16.0, 32.0), 1.0)
    np.testing.assert_allclose(found, [-1, -2, -1], atol=0.15)


@pytest.mark.slow
def test_a_paired_start_misses_less():
    """What is of second order has one sign for a neuron and the other for its twin."""
    law = wl.data.single_index(20, "He1(z) + 0.5*He2(z)")

    def build(alpha):
        return wl.Problem(law, NEURON, wl.initial.paired(PLAIN), alpha=alpha)

    np.testing.assert_allclose(orders(build, (8.0, 16.0, 32.0), 1.0), [-1, -2, -2], atol=0.15)


@pytest.mark.slow
def test_a_teacher_and_a_student_part_in_these_orders_under_sgd():
    def build(alpha):
        return wl.Problem(wl.data.single_index(10, "tanh(2*z)"), NEURON, wl.initial.paired(PLAIN), alpha=alpha)

    runs = [wl.linearise(build(alpha), 12, 1.0, step=0.02, save=2) for alpha in (8.0, 16.0, 32.0)]
    for name, order in (("moved", -1), ("apart", -2)):
        slope = np.polyfit(np.log([8.0, 16.0, 32.0]), [math.log(run.last(name)) for run in runs], 1)[0]
        assert slope == pytest.approx(order, abs=0.15)


def by_brute_force(alpha, n):
    """‖f − f*‖, ‖Df‖ and ‖D²f‖ from whole Jacobians and Hessians, and a search over directions."""
    problem = wl.Problem(wl.data.empirical(ROWS, TARGET), NEURON, wl.initial.paired(PLAIN))
    theta, size = problem.sample_initial(stream(0, "initial"), n), math.sqrt(n)

    def f(flat):
        rows = size * flat.reshape(n, 5)
        return alpha * (jnp.tanh(ROWS @ rows[:, 1:].T) @ rows[:, 0]) / n / math.sqrt(len(ROWS))

    at = (theta / size).ravel()
    J, H = jax.jacobian(f)(at), np.asarray(jax.jacfwd(jax.jacfwd(f))(at))
    rng, best = np.random.default_rng(0), 0.0
    for _ in range(40):
        u = rng.normal(size=at.size)
        for _ in range(60):
            g = np.einsum("qab,a,b->q", H, u, u)
            values, vectors = np.linalg.eigh(np.einsum("q,qab->ab", g / np.linalg.norm(g), H))
            u = vectors[:, np.argmax(np.abs(values))]
        best = max(best, float(np.linalg.norm(np.einsum("qab,a,b->q", H, u, u))))
    return float(np.linalg.norm(f(at) - TARGET / math.sqrt(len(ROWS)))), float(np.linalg.norm(J, 2)), best


@pytest.mark.slow
def test_the_relative_scale_is_that_of_whole_derivatives():
    problem = wl.Problem(wl.data.empirical(ROWS, TARGET), NEURON, wl.initial.paired(PLAIN), alpha=3.0)
    found, (residual, slope, bend) = wl.relative_scale(problem, n=4), by_brute_force(3.0, 4)
    assert (found.residual, found.slope, found.bend) == pytest.approx((residual, slope, bend), rel=1e-9)
    assert found.kappa == pytest.approx(residual * bend / slope**2, rel=1e-9)


@pytest.mark.more
def test_the_relative_scale_falls_like_one_over_the_scale_only_if_centred():
    data = wl.data.empirical(ROWS, TARGET)
    of = {
        name: [wl.relative_scale(wl.Problem(data, NEURON, start, alpha=a), n=6).kappa for a in (1.0, 10.0, 100.0)]
        for name, start in (("paired", wl.initial.paired(PLAIN)), ("plain", PLAIN))
    }
    assert of["paired"] == pytest.approx([of["paired"][0] / a for a in (1.0, 10.0, 100.0)], rel=1e-9)
    assert of["plain"][2] > 0.5 * of["plain"][1] > 5 * of["paired"][2]


def test_homogeneous_neurons_scaled_by_a_number_are_lazier_by_its_power():
    """a relu(⟨w, x⟩) is 2-homogeneous: κ(λθ) = κ(θ)/λ² from a centred start."""
    problem = wl.Problem(wl.data.empirical(ROWS, TARGET), wl.neurons.ridge("relu", "trained"), wl.initial.paired(PLAIN))
    theta = np.asarray(problem.sample_initial(stream(0, "initial"), 6))
    one, three = (wl.relative_scale(problem, 6, rho=scale * theta).kappa for scale in (1.0, 3.0))
    assert three == pytest.approx(one / 9, rel=1e-9)


@pytest.mark.slow
def test_the_relative_scale_of_wide_networks_falls_with_the_width():
    """κ ≤ c/√m + c'/(m a(m)): like m^{−1/2} for the scaling a(m) = m^{−1/2}, at neurons of bounded size."""
    start = wl.initial.sphere(1.0, a=wl.initial.signs())
    problem = wl.Problem(wl.data.empirical(ROWS, TARGET), NEURON, wl.initial.paired(start), alpha="lazy")
    widths = [40, 160, 640]
    found = [wl.relative_scale(problem, n).kappa for n in widths]
    assert np.polyfit(np.log(widths), np.log(found), 1)[0] == pytest.approx(-0.5, abs=0.1)


@pytest.mark.more
def test_what_is_missed_goes_with_the_square_of_time_times_the_relative_scale():
    """‖f − f̄‖/‖f_0 − f*‖ ≲ t² κ: below it, and by the same factor at every scale, early on also at every time."""
    shares = []
    for alpha in (4.0, 16.0):
        problem = centred(alpha)
        kappa = wl.relative_scale(problem, 12, rho=problem.initial.theta)
        both = wl.linearise(problem, 12, 0.2, save=3)
        t, missed = both.times[1:], both.dataset["missed"].values[1:]
        shares.append(missed / (kappa.residual * t**2 * kappa.kappa))
    assert np.max(shares) < 1
    np.testing.assert_allclose(shares[0], shares[1], rtol=0.05)
    np.testing.assert_allclose(shares[0][0], shares[0][1], rtol=0.2)


@pytest.mark.more
def test_the_lemmas_hold_along_a_run():
    problem = wl.Problem(wl.data.empirical(ROWS, TARGET), NEURON, wl.initial.paired(PLAIN), alpha=10.0)
    run = wl.solve(problem, wl.ParticleFlow(20), 2.0, save=5, keep="full")
    lemmas = wl.lazy_lemmas(run)
    assert set(lemmas) == {"decay", "lipschitz", "travel"} and all(lemma.holds for lemma in lemmas.values())
    assert lemmas["lipschitz"].right[-1] < 20 * lemmas["lipschitz"].left[-1]  # not a bound of another size


@pytest.mark.more
def test_one_sample_decays_and_travels_as_fast_as_the_lemmas_allow():
    """With one row the kernel is a number: in the lazy limit the first and the third lemma are equalities."""
    problem = wl.Problem(wl.data.empirical(ROWS[:1], TARGET[:1]), NEURON, wl.initial.paired(PLAIN), alpha=300.0)
    run = wl.solve(problem, wl.ParticleFlow(20), 1.0, save=5, keep="full")
    decay, travel = (wl.lazy_lemmas(run)[name] for name in ("decay", "travel"))
    np.testing.assert_allclose(decay.left, decay.right, rtol=1e-3)
    assert not replace(decay, right=decay.right[0] * (decay.right / decay.right[0]) ** 1.05).holds
    share = 1 - np.sqrt(decay.left / decay.left[0])  # of the way to the end
    np.testing.assert_allclose(travel.left, share * travel.right, rtol=1e-3, atol=1e-9)


@pytest.mark.more
def test_the_lemmas_ask_for_a_flow_on_data():
    law = wl.Problem(wl.data.single_index(4, "z"), NEURON, PLAIN)
    run = wl.solve(law, wl.GD(3, 0.1), 0.1, save=2)
    with pytest.raises(wl.InputError, match="ParticleFlow on a data set"):
        wl.lazy_lemmas(run)


def test_the_rule_of_the_verdict():
    assert Verdict(0.05, 0.1, 0.0, 0.0, 0.0).word == "lazy"
    assert Verdict(0.05, 0.3, 0.0, 0.0, 0.0).word == "intermediate"
    assert Verdict(0.5, 0.05, 0.0, 0.0, 0.0).word == "feature learning"
    moved, turned = kernel_moves(np.eye(2), 2 * np.eye(2))
    assert (moved, turned) == pytest.approx((1.0, 0.0)) and alignment(np.ones((2, 2)), np.array([1.0, 1.0])) == 1.0
    assert share_missed(np.zeros(2), np.ones(2), np.full(2, 0.5)) == pytest.approx(0.5)
    with pytest.raises(wl.InputError, match="must not vanish"):
        kernel_moves(np.zeros((2, 2)), np.eye(2))


@pytest.mark.more
@pytest.mark.parametrize(("alpha", "word"), [(1.0, "feature learning"), (100.0, "lazy")])
def test_a_large_scale_is_lazy_and_a_small_one_learns_features(alpha, word):
    data = wl.data.empirical(ROWS, 3 * TARGET)
    problem = wl.Problem(data, NEURON, wl.initial.paired(PLAIN), alpha=alpha)
    found = wl.regime(problem, 40, 4.0, inputs=8)
    assert found.word == word and found.verdict.sentence.startswith(word)
    names = {row["quantity"] for row in found.table()}
    assert {"kernel moved", "features moved", "relative scale κ"} <= names
    assert found.floor["moved"] > 0
    straight = replace(
        found, kappa=wl.RelativeScale(0.0, 0.0, 1.0, 1.0, 0.0)
    )  # hinges with a fixed: D²f is at the kinks
    assert straight.table()[-1]["quantity"] == "relative scale κ, kinks not counted"


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (lambda: wl.regime(centred(2.0), 12, 1.0, inputs=1), "two inputs"),
        (lambda: wl.regime(None, 12, 1.0), "needs a wl.Problem"),
        (lambda: wl.regimes(centred(2.0), [4, 8], 1.0, alpha=[1.0]), "one width"),
        (lambda: wl.relative_scale(centred(2.0), n=-3), "n must be"),
    ],
)
def test_misuse_is_answered_in_one_sentence(bad, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        bad()

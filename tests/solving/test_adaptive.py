"""Flows without noise: radii at the origin, stiff flows, runs that give up or go on for ever."""

import math

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import widelimit as wl
from widelimit.dynamics.nonlinear_flow import Passive
from widelimit.dynamics.particle_flow import Interacting
from widelimit.dynamics.rules import rules_of
from widelimit.dynamics.solve import DYNAMICS
from widelimit.errors import GaveUp
from widelimit.solving import adaptive
from widelimit.solving.adaptive import Adaptive, Reached, SmoothPlan, Solver, Span
from widelimit.solving.progress import silent
from widelimit.solving.rosenbrock import Rodas
from widelimit.solving.scheme_choice import STABLE, SchemeChoice

KINKED = wl.activations.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)])


def failing(scale):
    """The published failure: neurons that start near the origin fall into it."""
    return wl.Problem(wl.data.gaussian_classes(320, 0.5), wl.neurons.ridge(KINKED), wl.initial.gaussian(scale))


def flow_of(problem, n, reduced=True):
    return Interacting(wl.landscape(problem, reduced=reduced), rules_of(problem, reduced), jnp.full(n, 1 / n))


def small_steps(problem, radii, t_end, steps):
    """The projected flow r ← max(r + h v(r), 0) by Euler, extrapolated once."""
    flow = flow_of(problem, len(radii))

    @jax.jit
    def end(h, count):
        step = lambda _, r: jnp.maximum(r + h * flow.velocity(0.0, r), 0.0)  # noqa: E731
        return jax.lax.fori_loop(0, count, step, jnp.asarray(radii)[:, None])[:, 0]

    one, two = (np.asarray(end(t_end / k, k)) for k in (steps, 2 * steps))
    return 2 * two - one


@pytest.mark.slow
def test_a_radius_that_arrives_at_the_origin_stays_there_and_the_others_go_on():
    problem, radii = failing(0.1), np.array([0.05, 0.1, 0.2, 0.5, 0.9, 1.2])
    start = wl.initial.array(radii[:, None], coordinates="reduced")
    problem = wl.Problem(problem.data, problem.neuron, start)
    seen = []
    run = wl.solve(problem, wl.ParticleFlow(6, "reduced"), 0.2, save=9, observers={
        "least": lambda rho: seen.append(rho.theta.min()) or rho.theta.min()})  # fmt: skip
    here, there = run.final.theta[:, 0], small_steps(problem, radii, 0.2, 20_000)
    assert min(seen) >= 0 and run.dataset["theta"].values.min() >= 0
    assert (here == 0).any() and (here > 0.3).any()
    np.testing.assert_allclose(here, there, rtol=0, atol=2e-6)


class Wave:
    """A radius with the velocity −cos t, whatever else: a flow with a solution on paper."""

    rules = rules_of(failing(0.1), True)

    def velocity(self, t, r, args=None):
        return self.held(r, jnp.full_like(r, -jnp.cos(t)))

    def held(self, r, velocity):
        return self.rules.held(r, velocity)

    def inside(self, r, before):
        return self.rules.inside(r)

    def retract(self, r):
        return self.rules.inside(r)


jax.tree_util.register_pytree_node(Wave, lambda wave: ((), None), lambda *_: Wave())


@pytest.mark.more
def test_a_radius_leaves_the_origin_when_the_force_turns_outwards():
    """r = 0.3 − sin t until it is 0, then 0 until cos t = 0, then 1 − sin t."""
    begun = Reached.begun(jnp.array([[0.3], [2.0]]), Span(0.0, 1.5))
    held = Adaptive(Wave(), Solver(1e-8, 1e-10, False)).move(begun, None, Span(0.0, 1.5)).state
    ends = Adaptive(Wave(), Solver(1e-8, 1e-10, False)).move(begun, None, Span(0.0, 3.0)).state
    np.testing.assert_allclose(held[:, 0], [0.0, 2 - math.sin(1.5)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ends[:, 0], [1 - math.sin(3.0), 2 - math.sin(3.0)], rtol=0, atol=1e-7)


class Decay:
    """y' = −y² + sin t, with its exact derivative."""

    def velocity(self, t, y, args=None):
        return -(y**2) + jnp.sin(t)

    def implicit(self, t, y, eta):
        return lambda b: b / (1 + 2 * eta * y)

    def inside(self, y, before):
        return y


def test_the_implicit_scheme_has_order_four_and_its_error_order_three():
    scheme, term = Rodas(Decay()), diffrax.ODETerm(Decay().velocity)
    step = jax.jit(lambda t, after, y: scheme.step(term, t, after, y, None, None, False)[:2])

    def ends(steps):
        y, errors = jnp.ones(1), []
        for k in range(steps):
            y, error = step(k / steps, (k + 1) / steps, y)
            errors.append(float(error[0]))
        return float(y[0]), errors[0]

    exact = solve_ivp(Decay().velocity, (0, 1), [1.0], method="DOP853", rtol=1e-13, atol=1e-14).y[0, -1]
    (one, first), (two, second) = ends(16), ends(32)
    assert math.log2(abs(one - exact) / abs(two - exact)) == pytest.approx(4, abs=0.3)
    assert math.log2(first / second) == pytest.approx(4, abs=0.3), "one more than the order, in one step"


SPHERICAL = wl.Problem(
    wl.data.single_index(math.inf, "h0(z) - h1(z) + 2/3*h2(z)"), wl.neurons.ridge("relu", "trained", inner="sphere"),
    wl.initial.sphere(1.0, a=wl.initial.normal(0, 1)), mobility={"a": 1e6},
)  # fmt: skip
PLAIN = wl.Problem(
    wl.data.gaussian_classes(5, 0.5), wl.neurons.ridge("tanh", outer="trained"),
    wl.initial.gaussian(1.0, a=wl.initial.normal(0, 1)), ridge=0.1,
)  # fmt: skip
ON_CIRCLE = np.stack([[0.5, -1.0, 2.0], np.cos([1.0, 1.2, 2.0]), np.sin([1.0, 1.2, 2.0])], axis=1)
FLOWS = {
    "few neurons on a sphere": (flow_of(SPHERICAL, 3), ON_CIRCLE),
    "more columns than features": (flow_of(PLAIN, 40), np.linspace(0.1, 1.5, 80).reshape(40, 2)),
    "full coordinates": (flow_of(PLAIN, 3, False), np.sin(np.arange(18.0)).reshape(3, 6)),
    "tracers": (Passive(flow_of(PLAIN, 4), rules_of(PLAIN, False)),
                (np.linspace(0.2, 1.4, 8).reshape(4, 2), np.cos(np.arange(12.0)).reshape(2, 6))),
}  # fmt: skip
RATES = {"few neurons on a sphere": 1e6}


def jvp_or_difference(name, velocity, y, x, h=1e-5):
    """J x; in full coordinates by differences, as automatic differentiation is nan where a neuron meets itself."""
    if name != "full coordinates":
        return jax.jvp(velocity, (y,), (x,))[1]
    ahead, behind = (velocity(jax.tree.map(lambda a, b: a + sign * h * b, y, x)) for sign in (1, -1))  # noqa: B023
    return jax.tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)


@pytest.mark.more
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (i > 1)) for i, n in enumerate(FLOWS)])
def test_the_linear_systems_of_a_flow_are_those_of_its_velocity(name):
    """(1 − ηJ) x = b, with J from the whole velocity; the rounding of J is multiplied by η times the largest rate."""
    flow, state = FLOWS[name]
    state, eta = jax.tree.map(jnp.asarray, state), 1e-3
    b = jax.tree.map(lambda y: jnp.cos(1 + jnp.arange(y.size)).reshape(y.shape), state)
    x = jax.jit(lambda y, b: flow.implicit(0.0, y, eta)(b))(state, b)
    moved = jvp_or_difference(name, lambda y: flow.velocity(0.0, y), state, x)
    for wanted, found, by in zip(*map(jax.tree.leaves, (b, x, moved)), strict=True):
        np.testing.assert_allclose(found - eta * by, wanted, rtol=0, atol=1e-11 * max(1.0, eta * RATES.get(name, 1.0)))


@pytest.mark.slow
def test_the_time_scales_of_a_fast_outer_layer_are_those_of_the_explicit_equations():
    """On the clock 2t: ε a' = V(s) − mean_j a_j U(s s_j), s' = a (1 − s²) (V'(s) − mean_j a_j s_j U'(s s_j))."""
    orders = np.arange(80)
    relu = np.array([1 / math.sqrt(2 * math.pi), 0.5, *map(relu_coefficient, orders[2:])])
    V, U = (np.polynomial.Polynomial(c) for c in (relu[:3] * [1, -1, 2 / 3], relu**2))
    dV, dU, eps, n = V.deriv(), U.deriv(), 1e-6, 4

    def slope(t, y):
        a, s = y[:n], y[n:]
        pairs = np.outer(s, s)
        return np.concatenate([(V(s) - U(pairs) @ a / n) / eps, a * (1 - s**2) * (dV(s) - dU(pairs) @ (a * s) / n)])

    a, s, t_end = np.array([0.5, -1.0, 1.5, 0.2]), np.full(n, 0.01), 0.04
    exact = solve_ivp(slope, (0, t_end), np.concatenate([a, s]), method="Radau", rtol=1e-9, atol=1e-11).y[:, -1]
    start = wl.initial.array(np.stack([a, s, np.sqrt(1 - s**2)], axis=1), coordinates="reduced")
    problem = wl.Problem(SPHERICAL.data, SPHERICAL.neuron, start, mobility=SPHERICAL.mobility)
    got = wl.solve(problem, wl.ParticleFlow(n, "reduced"), t_end / 2, save=2)
    assert "stiff" in got.notes and np.abs(exact[n:] - s).max() > 0.1
    np.testing.assert_allclose(got.final.theta[:, 1], exact[n:], rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.final.theta[:, 0], exact[:n], rtol=0, atol=1e-4)


def relu_coefficient(k):
    """E relu(G) h_k(G) = He_{k−2}(0) φ(0)/√k!, k ≥ 2."""
    half = (k - 2) // 2
    size = math.lgamma(k - 1) - half * math.log(2) - math.lgamma(half + 1) - math.lgamma(k + 1) / 2
    return 0.0 if k % 2 else (-1) ** half * math.exp(size) / math.sqrt(2 * math.pi)


@pytest.mark.slow
def test_neurons_without_a_radius_slide_along_the_kink_of_a_relu():
    """At r = 0 the force jumps where ⟨u, z⟩ = 0. Loose explicit steps, which chatter, are the other route."""
    problem = wl.Problem(
        wl.data.hypercube(math.inf, "z1 + z1*z2"), wl.neurons.ridge("relu", "trained"),
        wl.initial.gaussian(1.0, a=wl.initial.normal(0, 1)),
    )  # fmt: skip
    run = wl.solve(problem, wl.MeanField(64, check=False), 20.0, save=[0.0, 3.0, 20.0])
    rough = wl.solve(problem, wl.MeanField(64, check=False, stiff=False, rtol=1e-5, atol=1e-5), 3.0, save=2)
    at = run.at(3.0).theta
    lost = at[:, 3] == 0
    assert lost.any() and np.abs(np.abs(at[lost, 1]) - np.abs(at[lost, 2])).max() < 1e-4 and "stiff" in run.notes
    np.testing.assert_allclose(np.sort(at[:, 0]), np.sort(rough.final.theta[:, 0]), rtol=0, atol=3e-3)


@pytest.mark.slow
def test_a_run_that_hardly_moves_any_more_may_go_on_for_ever():
    problem = failing(0.4)
    run = wl.solve(problem, wl.MeanField(16, check=False), 1e6, save=3)
    land = wl.landscape(problem, reduced=True)
    assert run.outcome == "done" and "stiff" in run.notes and run.times[-1] == 1e6
    first, last = (np.asarray(land.grad_psi(rho.theta, rho)) for rho in (run.at(0.0), run.final))
    held = run.final.theta == 0  # at the origin, where the force points inwards
    assert (last[held] >= 0).all() and np.abs(last[~held]).max() < 1e-4 * np.abs(first).max()


def test_an_implicit_scheme_is_tried_where_what_is_left_is_worth_it():
    problem, solver = failing(0.4), Solver(1e-8, 1e-10, None)
    cheap, dear = (SchemeChoice.of(solver, wl.landscape(problem, reduced=r), n) for r, n in ((True, 400), (False, 3)))
    assert dear.cost == 3 * 320 / 6 > cheap.cost  # a velocity for each column against a few numbers in which all meet
    for scheme, steps_left, tried in (
        (cheap, 300, False),
        (cheap, 500, True),
        (dear, 500, False),
        (dear, 20_000, True),
    ):
        scheme.stiff = False
        scheme.reconsider(pace=1.0, rate=3.0, left=steps_left, end=1.0)
        assert scheme.stiff is tried
    dear.reconsider(pace=100.0, rate=3.0, left=20_000, end=1.0)
    assert not dear.stiff  # steps a hundred times as long that cost 160 times as much


def test_a_run_asked_to_be_implicit_is_judged_by_the_edge_of_stability_after_its_first_call():
    land = wl.landscape(failing(0.4), reduced=True)
    for pace, stays in ((0.9 * STABLE * 4 / 50.0, False), (1.1 * STABLE * 4 / 50.0, True)):
        scheme = SchemeChoice.of(Solver(1e-8, 1e-10, True), land, 8)
        scheme.reconsider(1e-6, 50.0, 1.0, 1.0)
        assert scheme.stiff and scheme.cost == 4
        scheme.reconsider(pace, 50.0, 1.0, 1.0)
        assert scheme.stiff is stays and bool(scheme.notes) is not stays


def test_a_leg_of_many_calls_is_compiled_once(monkeypatch):
    monkeypatch.setattr(adaptive, "STEPS_PER_CALL", {False: 5, True: 5})  # read when these shapes are compiled, here
    problem = wl.Problem(wl.data.gaussian_classes(9, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0), ridge=0.1)
    before = adaptive.compiled(Adaptive.move, "alone")._cache_size()
    wl.solve(problem, wl.MeanField(7, check=False, stiff=False), 5.0, save=2)
    assert adaptive.compiled(Adaptive.move, "alone")._cache_size() == before + 1


def test_a_replica_that_has_arrived_does_not_stop_the_others():
    """A call in which the first of two replicas was at the end before: it takes no step, and that is no failure."""
    plan = SmoothPlan(lambda start, stop: iter(()), None, 2, scheme=SchemeChoice(stiff=True))
    before, span = np.array([5.0, 2.0]), Span(0.0, 5.0)
    assert plan._pace(Reached(None, np.array([5.0, 3.5]), np.array([0, 6]), np.zeros(2)), before, span, 6) == 0.25
    with pytest.raises(GaveUp, match="gave up"):
        plan._pace(Reached(None, np.array([5.0, 2.0]), np.array([0, 0]), np.zeros(2)), before, span, 6)


@pytest.mark.slow
def test_calls_of_few_steps_get_as_far_as_long_ones(monkeypatch):
    """Of a state that counts as large a call has a few steps, the first as long as those before: about as many in all,
    and the same flow to its tolerance."""
    problem = wl.Problem(wl.data.gaussian_classes(9, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0), ridge=0.1)

    def solved():
        run = DYNAMICS[wl.MeanField](wl.MeanField(6, check=False, stiff=False), problem, 0, None)
        return np.asarray(run.advance(run.state, 0.0, 40.0, silent)), run.memory.steps

    whole, steps = solved()
    monkeypatch.setattr(adaptive, "SIZE", 0)
    for least in (3, 2):
        monkeypatch.setattr(adaptive, "LEAST", least)
        pieces, many = solved()
        np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-6)
        assert many < 1.5 * steps


def test_a_leg_goes_on_with_the_step_of_the_one_before():
    """Once steps are longer than the time between two saves, each save costs one."""
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    method = wl.ParticleFlow(3, "reduced", stiff=False, rtol=1e-5, atol=1e-7)
    run = DYNAMICS[wl.ParticleFlow](method, problem, 0, None)
    state, taken = run.state, [0]
    for k in range(20):
        state = run.advance(state, k / 20, (k + 1) / 20, silent)
        taken.append(run.memory.steps)
    assert np.diff(taken)[10:].tolist() == [1] * 10


def test_a_step_that_was_cut_at_a_save_does_not_shorten_those_after_it():
    """The last step before a save is a thousandth of a usual one; the next leg begins with a usual one."""
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    flow = Adaptive(flow_of(problem, 3), Solver(1e-5, 1e-7, stiff=False))
    move = adaptive.compiled(Adaptive.move, "alone")

    def leg(begun, stop):
        return move(flow, begun, None, Span(float(begun.at), stop))

    start = Reached.begun(jnp.array([[0.5], [1.0], [1.5]]), Span(0.0, 1.0), step=0.01)
    first = leg(start, 0.01)
    second = leg(first, 0.01 + float(first.step) * 1.001)  # one step, and a thousandth of it
    assert int(second.steps) == 2 and float(second.step) >= float(first.step)


@pytest.mark.parametrize("beta", [math.inf, 10.0])
def test_a_velocity_is_compiled_once_for_all_stages(monkeypatch, beta):
    """Compiling it is most of the time of a first run; it stands in a loop."""
    start = wl.initial.gaussian(1.0)
    problem = wl.Problem(wl.data.gaussian_classes(11, 0.5), wl.neurons.ridge("erf"), start, ridge=0.1, beta=beta)
    traced, velocity = [], Interacting.velocity
    monkeypatch.setattr(Interacting, "velocity", lambda self, *rest: traced.append(1) or velocity(self, *rest))
    wl.solve(problem, wl.ParticleFlow(5), t_end=0.01, save=2)
    assert 1 <= len(traced) <= 2  # JAX may trace the body of a loop twice

"""Specs: what is written can be read again, and what cannot be written or read says why in one sentence."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import widelimit as wl
from widelimit.experiments.spec import Spec

BASE = """
[problem]
ridge = 0.1
[problem.data]
law = "gaussian_classes"
d = 40
delta = 0.8
[problem.neuron]
activation = "ramp"
outer = "trained"
[problem.initial]
law = "gaussian"
scale = 0.8
a = {law = "normal", mean = 0.0, std = 1.0}
[run]
t_end = 10.0
[[method]]
name = "SGD"
n = 800
step = 1e-4
[[method]]
name = "MeanField"
"""


def test_the_words_of_a_file_are_those_of_the_python_arguments():
    problem = wl.Problem(
        wl.data.gaussian_classes(40, 0.8),
        wl.neurons.ridge("ramp", outer="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(0.0, 1.0)),
        ridge=0.1,
    )
    assert Spec.from_toml(BASE) == Spec(problem, (wl.SGD(800, 1e-4), wl.MeanField()), t_end=10.0)


sizes = st.floats(1e-3, 1e3)
reals = st.floats(-1e3, 1e3)
schedules = st.one_of(
    st.builds(wl.schedules.constant, sizes),
    st.builds(wl.schedules.exponential, sizes),
    st.builds(lambda a, b: wl.schedules.window(a, a + b), sizes, st.one_of(st.just(math.inf), sizes)),
)
scalars = st.one_of(
    reals,
    st.builds(wl.initial.signs, sizes),
    st.builds(wl.initial.normal, reals, sizes),
    st.builds(lambda low, width: wl.initial.uniform(low, low + width), reals, sizes),
)
knots = st.lists(st.integers(-9000, 9000), min_size=1, max_size=4, unique=True).map(
    lambda t: [k / 7 for k in sorted(t)]
)
activations = st.one_of(
    st.sampled_from([*wl.activations.NAMED]),
    st.builds(lambda a, v, w, b: wl.activations.ramp((a, v), (a + w, b)), reals, reals, sizes, reals),
    knots.flatmap(
        lambda t: st.builds(
            lambda v, left, right: wl.activations.piecewise_linear(list(zip(t, v, strict=True)), left, right),
            st.lists(reals, min_size=len(t), max_size=len(t)), reals, reals,
        )
    ),
    st.builds(wl.activations.polynomial, st.lists(reals, min_size=1, max_size=5)),
    st.builds(wl.activations.hermite, st.integers(0, 30)),
)  # fmt: skip


@st.composite
def data_laws(draw, d):
    noise = draw(st.one_of(st.just(0.0), sizes))
    nodes = draw(st.one_of(st.none(), st.integers(1, 50).map(lambda half: 2 * half)))
    values = st.lists(sizes, min_size=3, max_size=3)
    informative = draw(st.one_of(st.none(), st.floats(0.1, 0.9) if math.isinf(d) else st.integers(1, int(d))))
    return draw(
        st.sampled_from(
            [
                wl.data.gaussian_classes(d, draw(st.floats(0.01, 0.99)), informative, samples=50),
                wl.data.gaussian_classes(d, 0.5, weights=draw(values)[:2]),
                wl.data.gaussian_classes(d, deviations=draw(values), labels=draw(values), weights=draw(values)),
                wl.data.single_index(d, "He1(z) - 0.5*He3(z)", noise, nodes, samples=100),
                wl.data.multi_index(d, 2, "sign(z1)*abs(z2)", noise, nodes, 200),
                wl.data.hypercube(d, "z1 + z1*z2 + z1*z2*z3", noise, samples=100),
                wl.data.sphere(d, "z1*z2", noise, nodes, k=3),
            ]
        )
    )


@st.composite
def specs(draw):
    d = draw(st.one_of(st.integers(6, 10**6), st.just(math.inf)))
    outer, bias = draw(st.tuples(*[st.sampled_from(["absent", "fixed", "trained"])] * 2))
    starts = {name: draw(scalars) for name, role in (("a", outer), ("b", bias)) if role != "absent"}
    inner = draw(st.sampled_from(["free", "sphere"]))
    round_ = st.just(wl.initial.sphere(1.0, **starts))
    start = draw(round_ if inner == "sphere" else round_ | st.builds(lambda s: wl.initial.gaussian(s, **starts), sizes))
    rates = {name: draw(st.one_of(st.floats(0, 10), schedules)) for name in (*starts, "w")}
    problem = wl.Problem(
        draw(data_laws(d)), wl.neurons.ridge(draw(activations), outer=outer, bias=bias, inner=inner), start,
        ridge=draw(st.floats(0, 10)), beta=draw(st.one_of(st.just(math.inf), sizes)),
        schedule=draw(st.one_of(schedules, st.builds(wl.schedules.power, st.floats(0, 0.9)))), mobility=rates,
    )  # fmt: skip
    method = wl.SGD(draw(st.integers(1, 10**9)), draw(sizes), draw(st.integers(1, 64)), "float32")
    if math.isinf(d):
        method = wl.GD(3, draw(sizes), "reduced") if not problem.data.no_reduction else wl.ParticleFlow(3, "reduced")
    save = draw(st.one_of(st.integers(2, 100), st.just((0.0, 1 / 3, 0.7))))
    replicas = draw(st.one_of(st.none(), st.integers(1, 99)))
    return Spec(problem, (method, method), t_end=draw(sizes) + 1, seed=draw(st.integers(0, 2**32 - 1)), save=save,
                replicas=replicas)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(specs())
def test_what_is_written_is_read_again(spec):
    text = spec.to_toml()
    again = Spec.from_toml(text)
    assert again == spec and again.to_toml() == text


METHODS = [
    wl.SGD(3, 0.1, 2, "float32"), wl.GD(3, 0.1, "reduced"), wl.ParticleFlow(3, "reduced", 1e-7, 1e-9, 0.01),
    wl.NonlinearFlow(3, "reduced", 10, "gauss", 1e-7, 1e-9, 0.01), wl.MeanField(9, "gauss", 1e-7, 1e-9),
]  # fmt: skip


def problem(activation="erf", **more):
    start = more.pop("initial", wl.initial.gaussian(0.8))
    return wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge(activation), start, **more)


def test_every_method_is_written_with_all_its_fields():
    spec = Spec(problem(), METHODS, t_end=1.0)
    assert Spec.from_toml(spec.to_toml()) == spec
    assert {type(m) for m in spec.methods} == {type(m) for m in METHODS}


@pytest.mark.parametrize(
    "text", ["tanh(3*x)", "x**2 - 1", "abs(x)", '{name = "custom", function = "relu(x - 1)", kinks = [1.0]}']
)
def test_activations_may_be_expressions(text):
    quoted = text if text.startswith("{") else f'"{text}"'
    spec = Spec.from_toml(BASE.replace('"ramp"', quoted))
    assert Spec.from_toml(spec.to_toml()) == spec
    assert float(spec.problem.neuron.activation(2.0)) == pytest.approx(eval_at_two(text))


def eval_at_two(text):
    return {"t": math.tanh(6.0), "x": 3.0, "a": 2.0, "{": 1.0}[text[0]]


def test_a_starting_ramp_is_written_by_its_end_points():
    spec = Spec(problem(wl.activations.ramp((0.5, -2.5), (1.7, 3.1))), wl.MeanField(), t_end=1.0)
    assert 'name = "ramp"' in spec.to_toml() and "3.1," in spec.to_toml()


def custom_law(key, n):
    return jax.numpy.zeros((n, 3)), jax.numpy.zeros(n)


BALL = wl.neurons.custom(lambda x, theta: theta[0], D=1)
UNWRITABLE = {
    "activation": (lambda: problem(lambda x: x), "in a file the activation must be one of"),
    "schedule": (lambda: problem(schedule=lambda t: 1.0), "in a file the schedule must be one of constant"),
    "rate": (lambda: problem(mobility={"w": lambda t: 1.0}), "in a file the schedule must be one of constant"),
    "start": (lambda: problem(initial=wl.initial.array(np.ones((3, 20)))), "in a file the initial law must be one of"),
    "sampler": (lambda: wl.Problem(wl.data.sampler(custom_law, 3), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0)),
                "in a file the data law must be one of"),
    "arrays": (lambda: wl.Problem(wl.data.empirical([[0.0], [1.0]], [0, 1]), wl.neurons.ridge("erf"),
                                  wl.initial.gaussian(1.0)), r"rows .* must come from a file.*file = 'data.npz'"),
    "link": (lambda: wl.Problem(wl.data.single_index(9, lambda z: z), wl.neurons.ridge("erf"),
                                wl.initial.gaussian(1.0)), "in a file a function must be an expression"),
    "neuron": (lambda: wl.Problem(wl.data.gaussian_classes(9, 0.5), BALL, wl.initial.gaussian(1.0)),
               "in a file the neuron must be one of ridge"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_has_no_form_in_a_file_is_one_sentence(name):
    build, sentence = UNWRITABLE[name]
    with pytest.raises(wl.InputError, match=sentence) as caught:
        Spec(build(), wl.SGD(3, 0.1), t_end=1.0).to_toml()
    assert "\n" not in str(caught.value) and str(caught.value).endswith("keep this spec in Python.")


WRONG = {  # what is replaced, by what, and what must be said
    "misspelt key": ("delta = 0.8", "dleta = 0.8", ["problem.data.dleta", "0.8", "'delta'", "informative"]),
    "misspelt law": ('"gaussian_classes"', '"gausian"', ["problem.data.law", "'gaussian_classes'", "hypercube"]),
    "misspelt method": ('"SGD"', '"SDG"', ["method[1].name", "'SDG'", "'SGD'", "MeanField"]),
    "unknown activation": ('"ramp"', '"foo"', ["problem.neuron.activation: unknown activation 'foo'"]),
    "misspelt activation": ('"ramp"', '"rmp"', ["problem.neuron.activation", "'rmp'", "'ramp'", "relu"]),
    "misspelt role": ('"trained"', '"tained"', ["problem.neuron.outer", "'tained'", "absent, fixed, trained"]),
    "misspelt start": ('"normal"', '"norml"', ["problem.initial.a.law", "'norml'", "'normal'", "uniform"]),
    "wrong type": ("d = 40", 'd = "many"', ["problem.data.d must be a number", "'many'"]),
    "no fraction": ("n = 800", "n = 8.5", ["method[1].n must be a whole number", "8.5"]),
    "bool": ("d = 40", "d = true", ["problem.data.d must be a number", "True"]),
    "nan": ("d = 40", "d = nan", ["problem.data.d must be a number", "nan"]),
    "huge": ("d = 40", "d = 1" + "0" * 400, ["problem.data.d must be a number"]),
    "value": ("delta = 0.8", "delta = 1.8", ["problem.data.delta must lie", "1.8"]),
    "value of a method": ("n = 800", "n = 0", ["method[1].n must be", "got 0"]),
    "value of the run": ("t_end = 10.0", "t_end = -1", ["run.t_end must be", "-1"]),
    "seed": ("t_end = 10.0", "t_end = 1.0\nseed = -1", ["run.seed must be", "-1"]),
    "times": ("t_end = 10.0", "t_end = 1.0\nsave = [1, 0]", ["run.save times must increase", "[1.0, 0.0]"]),
    "item": ("t_end = 10.0", "t_end = 1.0\nsave = [0, 'x']", ["run.save must be", "value 2", "'x'"]),
    "keep": ("t_end = 10.0", 't_end = 1.0\nkeep = "full"', ["run.keep must be 'reduced'", "MeanField"]),
    "missing": ("step = 1e-4", "", ["method[1].step must be given", "ε"]),
    "missing table": ("[run]\nt_end = 10.0", "", ["run must be given", "[run]"]),
    "missing start": ("a = {law", "#", ["problem", "does not say how it starts"]),
    "unknown table": ("[run]", "[rnu]", ["rnu", "'run'", "1 more"]),
    "several": ("d = 40", "d = 'x'\nq = 1\nr = 2", ["problem.data.q", "2 more"]),
    "one method": ('"MeanField"', '"MeanField"\n[method.x]', ["method[2].x"]),
    "number for a table": ("[problem.initial]", "[problem]\ninitial = 3\n[z]", ["TOML"]),
    "infinite": ("d = 40", "d = inf", ["SGD", "finite", "inf"]),
    "not toml": ("ridge = 0.1", "ridge = ", ["TOML", "line 3"]),
    "two keys": ("d = 40", "d = 40\nd = 41", ["TOML"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_sentence_with_the_key_the_value_and_the_cure(name):
    old, new, words = WRONG[name]
    with pytest.raises(wl.InputError) as caught:
        Spec.from_toml(BASE.replace(old, new, 1))
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "\n" not in said and len(said) < 800 and said.endswith(".")


def test_the_number_of_other_mistakes_is_told():
    bad = BASE.replace("d = 40", 'd = "x"').replace("n = 800", 'n = "y"').replace("t_end = 10.0", 't_end = "z"')
    with pytest.raises(wl.InputError, match=r"problem\.data\.d .*\(and 2 more\)\.$"):
        Spec.from_toml(bad)


def test_infinity_may_be_a_number_or_a_text():
    text = BASE.replace("n = 800\nstep = 1e-4", 'n = 8\nstep = 1e-4\ncoordinates = "reduced"').replace("SGD", "GD")
    one, two = (Spec.from_toml(text.replace("d = 40", f"d = {d}")) for d in ("inf", '"inf"'))
    assert one == two and math.isinf(one.problem.data.d)


def test_a_spec_is_read_from_a_path_or_a_text(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert Spec.from_toml(tmp_path / "a.toml") == Spec.from_toml(str(tmp_path / "a.toml")) == Spec.from_toml(BASE)
    with pytest.raises(wl.InputError, match="no such file"):
        Spec.from_toml("absent.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(wl.InputError, match="UTF-8"):
        Spec.from_toml(tmp_path / "b.toml")
    with pytest.raises(wl.InputError, match="directory"):
        Spec.from_toml(tmp_path)

"""Expressions: values, normal form, LaTeX, coefficients, slopes, and what is refused, where."""

import copy
import math
import pickle
import random

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import erf, eval_hermitenorm, expit

from widelimit.errors import InputError
from widelimit.problem.expressions import Expression, expression

Z = np.linspace(-3.1, 2.9, 25)
ROWS = np.random.default_rng(0).normal(size=(4, 5, 3))
z1, z2, z3 = np.moveaxis(ROWS, -1, 0)

OF_ONE = {
    "He1(z) - 0.5*He3(z)": Z - 0.5 * (Z**3 - 3 * Z),
    "tanh(3*x)": np.tanh(3 * Z),
    "max(z, 0)": np.maximum(Z, 0),
    "min(z, -z)": -abs(Z),
    "1/(1+exp(-x))": expit(Z),
    "sigmoid(x)": expit(Z),
    "softplus(x)": np.log1p(np.exp(Z)),
    "z**2": Z**2,
    "z**2.0": Z**2,
    "z**(1 + 1)": Z**2,
    "z**0": np.ones_like(Z),
    "cos(2*pi*z)": np.cos(2 * np.pi * Z),
    "log(1 + z**2)": np.log(1 + Z**2),
    "sqrt(abs(z))": np.sqrt(abs(Z)),
    "sin(z) + tan(z/4) + sinh(z) + cosh(z)": np.sin(Z) + np.tan(Z / 4) + np.sinh(Z) + np.cosh(Z),
    "arctan(z)": np.arctan(Z),
    "erf(z)": erf(Z),
    "sign(z)": np.sign(Z),
    "step(z)": 1.0 * (Z > 0),
    "relu(z - 1)": np.maximum(Z - 1, 0),
    "e*z": math.e * Z,
    "-z**2": -(Z**2),
    "(-z)**2": Z**2,
    "2**3**2*z": 512 * Z,
    "z - 1 - 2": Z - 3,
    "z - (1 - 2)": Z + 1,
    "z/2/4": Z / 8,
    "z/(2/4)": 2 * Z,
    "z/2*4": 2 * Z,
    "-2*-z + +1": 2 * Z + 1,
    ".5*z + 1.e1 - 1E-1": 0.5 * Z + 9.9,
    "\n\tz +\n 1 ": Z + 1,
    "2*3": np.full_like(Z, 6.0),
    "exp(pi) + erf(e) + sigmoid(pi) + softplus(pi)": math.exp(math.pi)
    + math.erf(math.e)
    + expit(math.pi)
    + np.log1p(np.exp(np.full_like(Z, math.pi))),
    "step(e) + max(pi, e) + sign(pi) + relu(pi) + abs(pi)": np.full_like(Z, 2 + 3 * math.pi),
}
OF_MANY = {
    "z1 + z1*z2 + z1*z2*z3": z1 + z1 * z2 + z1 * z2 * z3,
    "sign(z1)*abs(z2)": np.sign(z1) * abs(z2),
    "relu(z1 - z2)": np.maximum(z1 - z2, 0),
    "z3": z3,
    "x1": z1,
    "h2(x2)/x3": (z2**2 - 1) / math.sqrt(2) / z3,
}
POLYNOMIALS = [
    "z", "4", "He0(z)", "He1(z) - 0.5*He3(z)", "h7(z)", "(z - 1)**5*(z + 2)/3", "z*(2*z)", "-(z + pi)**2/sqrt(e)",
    "He20(z)", "He3(z**2 - 1)", "2**10*z - z", "z - z", "max(pi, 1)*x", "z**20*z**20",
]  # fmt: skip
SOME = [*OF_ONE, *OF_MANY, *POLYNOMIALS]


@pytest.mark.some(12)
@pytest.mark.parametrize("text", OF_ONE)
def test_a_function_of_one_variable_has_the_values_written(text):
    found = expression(text)
    np.testing.assert_allclose(found(Z), OF_ONE[text], rtol=1e-13, atol=1e-14)
    assert found(Z.reshape(5, 5)).shape == (5, 5) and found(0.3).shape == () and found(np.float64(0.3)).shape == ()
    np.testing.assert_allclose(jax.jit(found)(jnp.asarray(Z)), OF_ONE[text], rtol=1e-13, atol=1e-14)
    assert found(Z.astype(np.float32)).dtype == np.float32 and found(np.arange(3)).dtype == np.float64


@pytest.mark.parametrize("text", OF_MANY)
def test_a_function_of_many_variables_takes_them_from_the_columns(text):
    found = expression(text)
    np.testing.assert_allclose(found(ROWS), OF_MANY[text], rtol=1e-13)
    np.testing.assert_allclose(jax.vmap(jax.vmap(found))(ROWS), OF_MANY[text], rtol=1e-13)


@pytest.mark.parametrize("k", range(21))
def test_hermite_polynomials_are_those_of_the_normal_law(k):
    exact = eval_hermitenorm(k, Z)
    np.testing.assert_allclose(expression(f"He{k}(z)")(Z), exact, rtol=1e-11, atol=1e-12 * abs(exact).max())
    root = math.sqrt(math.factorial(k))
    np.testing.assert_allclose(
        expression(f"h{k}(z)")(Z), exact / root, rtol=1e-11, atol=1e-12 * abs(exact).max() / root
    )
    value = float(expression(f"He{k}(z)")(1.25))
    assert value == pytest.approx(float(mpmath.hermite(k, 1.25 / mpmath.sqrt(2)) / 2 ** (mpmath.mpf(k) / 2)), rel=1e-11)


@pytest.mark.parametrize("text, normal", [
    ("He1( z)-0.50 * He3(z)", "He1(z) - 0.5*He3(z)"),
    ("((z))+(1.0)", "z + 1"),
    ("2*3*z", "6*z"),
    ("z*2*3", "z*2*3"),
    ("z + (z + 1)", "z + (z + 1)"),
    ("1/(1+exp(-x))", "1/(1 + exp(-x))"),
    ("1/4*z", "0.25*z"),
    ("sqrt(4)*z", "2*z"),
    ("2*pi*z", "2*pi*z"),
    ("z + -3", "z - 3"),
    ("z - -z", "z + z"),
    ("--z", "z"),
    ("-(-3)*z", "3*z"),
    ("-(2*z)", "-(2*z)"),
    ("-2*z", "-2*z"),
    ("z*-2", "z*(-2)"),
    ("z1/(z2*z3)", "z1/(z2*z3)"),
    ("(z**2)**3", "(z**2)**3"),
    ("z - 0", "z - 0"),
    ("-0*z", "0*z"),
    ("1e-3*z + 1e12", "0.001*z + 1000000000000"),
    ("max( z,0 )", "max(z, 0)"),
])  # fmt: skip
def test_the_normal_form(text, normal):
    assert expression(text).text == normal == str(expression(text))


@pytest.mark.parametrize("text", SOME)
def test_the_normal_form_reads_back(text):
    once = expression(text)
    again = expression(once.text)
    assert again == once and again.prefix == once.prefix and again.latex == once.latex
    assert expression(once) is once and pickle.loads(pickle.dumps(once)) == once == copy.deepcopy(once)


def test_expressions_compare_and_hash_by_normal_form():
    one, same, other = expression("tanh(3*x)"), expression(" tanh( (3.0) * x )"), expression("tanh(x*3)")
    assert one == same and hash(one) == hash(same) and one != other and one != expression("tanh(3*z)")


def test_expressions_that_differ_in_their_numbers_share_compiled_code():
    traces = []

    @jax.jit
    def run(function, x):
        traces.append(function)
        return function(x)

    assert run(expression("tanh(3*x)"), 0.2) == pytest.approx(math.tanh(0.6), rel=1e-15)
    assert run(expression("tanh(-4.5*x)"), 0.2) == pytest.approx(math.tanh(-0.9), rel=1e-15)
    assert len(traces) == 1
    assert run(expression("tanh(x*3)"), 0.2) == pytest.approx(math.tanh(0.6), rel=1e-15)
    assert len(traces) == 2


@pytest.mark.parametrize("text, names, arity", [
    ("pi", (), 0), ("z", ("z",), 1), ("x + x", ("x",), 1), ("z10*z2", ("z2", "z10"), 10), ("x1", ("x1",), 1),
])  # fmt: skip
def test_names_and_arity(text, names, arity):
    assert expression(text).names == names and expression(text).arity == arity


@pytest.mark.parametrize("text, latex", [
    ("He3(z)", r"\mathrm{He}_{3}(z)"),
    ("h12(z)", r"h_{12}(z)"),
    ("z1*z2", r"z_{1} z_{2}"),
    ("tanh(3*x)", r"\tanh(3x)"),
    ("cos(2*pi*z)", r"\cos(2\pi z)"),
    ("1/(1+exp(-x))", r"\frac{1}{1 + \exp(-x)}"),
    ("-(z + 1)**2", r"-(z + 1)^{2}"),
    ("tanh(x)**2", r"(\tanh(x))^{2}"),
    ("z*2*3", r"z \cdot 2 \cdot 3"),
    ("2*(1/z)", r"2 \cdot \frac{1}{z}"),
    ("(z/2)**3", r"\left(\frac{z}{2}\right)^{3}"),
    ("sign(z1)*abs(z2)", r"\mathrm{sign}(z_{1}) \left|z_{2}\right|"),
    ("sqrt(z) + max(z, 0)", r"\sqrt{z} + \max(z, 0)"),
    ("2.5e-7*z - 1e-9", r"2.5 \cdot 10^{-7} z - 10^{-9}"),
    ("z*(-3)", r"z (-3)"),
    ("e**2", r"\mathrm{e}^{2}"),
])  # fmt: skip
def test_latex(text, latex):
    assert expression(text).latex == latex


@pytest.mark.parametrize("text", SOME)
def test_latex_is_drawn_by_matplotlib(text):
    from matplotlib.mathtext import MathTextParser

    MathTextParser("path").parse(f"${expression(text).latex}$")


@pytest.mark.parametrize("text", POLYNOMIALS)
def test_coefficients_of_a_polynomial_give_its_values(text):
    found = expression(text)
    assert found.polynomial is not None and (len(found.polynomial) == 1 or found.polynomial[-1] != 0)
    values = np.asarray(found(Z))
    by_coefficients = np.polynomial.polynomial.polyval(Z, found.polynomial)
    np.testing.assert_allclose(by_coefficients, values, rtol=1e-9, atol=1e-9 * (1 + abs(values).max()))


def test_coefficients_in_many_variables():
    assert expression("z1 + 2*z1*z3 - (z1 - z3)**2").monomials == {
        (1, 0, 0): 1.0, (1, 0, 1): 4.0, (2, 0, 0): -1.0, (0, 0, 2): -1.0,
    }  # fmt: skip
    found = expression("He3(z1*z2) - h2(z2 + z3)/pi + 1").monomials
    total = sum(c * z1**i * z2**j * z3**k for (i, j, k), c in found.items())
    np.testing.assert_allclose(total, expression("He3(z1*z2) - h2(z2 + z3)/pi + 1")(ROWS), rtol=1e-11, atol=1e-12)
    assert expression("z2").monomials == {(0, 1): 1.0} and expression("2*3").monomials == {(): 6.0}
    assert expression("z1").polynomial is None and expression("z1 - z1").monomials == {}


@pytest.mark.parametrize("text", [
    "tanh(z)", "1/z", "abs(z)", "z + relu(z)", "(z**20)**3", "z/(pi - pi)", "(1e12*z)**20*(1e12*z)**20",
    "z**20*z**20*z",
    "(z1+z2+z3+z4+z5+z6+z7+z8+z9+z10+z11+z12+z13+z14+z15+z16+z17+z18+z19+z20)**20",
])  # fmt: skip
def test_what_is_no_polynomial_or_too_large_a_one_has_no_coefficients(text):
    assert expression(text).monomials is None and expression(text).polynomial is None


@pytest.mark.some(10)
@pytest.mark.parametrize("text", [t for t in OF_ONE if expression(t).names])
def test_slopes_are_those_of_finite_differences(text):
    found, h = expression(text), 1e-5
    points = np.array([-1.7, -0.3, 0.4, 2.2])  # away from the kinks
    by_differences = (found(points + h) - found(points - h)) / (2 * h)
    np.testing.assert_allclose(jax.vmap(jax.grad(found))(points), by_differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("text", [
    "abs(z)", "sign(z)", "relu(z)", "step(z)", "max(z, 0)", "min(z, 0)", "z**0", "z**1", "z**2", "He0(z)",
    "softplus(z)", "sigmoid(1000*z)",
])  # fmt: skip
def test_slopes_at_zero_are_finite(text):
    for order in (jax.grad(expression(text)), jax.grad(jax.grad(expression(text)))):
        assert np.isfinite(order(0.0))


def test_too_few_columns_are_refused():
    for bad in (np.ones((4, 2)), 1.0):
        with pytest.raises(InputError, match="k >= 3, got"):
            expression("z1*z3")(bad)


BAD = [
    ("", 0, "expected a number, a variable or a function here, got 'the end': "),
    ("z + ", 3, "expected a number, a variable or a function here, got 'the end': "),
    ("z + * 2", 4, "expected a number, a variable or a function here, got '*': "),
    ("z // 2", 3, "expected a number, a variable or a function here, got '/': "),
    ("tanh()", 5, "expected a number, a variable or a function here, got ')': "),
    ("max(z, )", 7, "expected a number, a variable or a function here, got ')': "),
    ("max(*z, 0)", 4, "expected a number, a variable or a function here, got '*': "),
    ("1 + 2z", 5, "expected an operator or the end here, got 'z': write * for a product."),
    ("z z", 2, "expected an operator or the end here, got 'z': write * for a product."),
    ("(z)(z)", 3, "expected an operator or the end here, got '(': write * for a product."),
    ("z(2)", 1, "expected an operator or the end here, got '(': write * for a product."),
    ("z if z else z", 2, "expected an operator or the end here, got 'if': "),
    ("0x10", 1, "expected an operator or the end here, got 'x10': "),
    ("1_000", 1, "expected an operator or the end here, got '_000': "),
    ("012", 1, "expected an operator or the end here, got '12': "),
    ("1j", 1, "expected an operator or the end here, got 'j': "),
    ("z + 1)", 5, "every ) must have been opened, got ')': "),
    ("2*(z + (1)", 2, "every ( must be closed, got '(': write the missing )."),
    ("0,5*z", 1, "a comma separates the two arguments of max or min, got ',': "),
    ("tanh(z, 1)", 6, "a comma separates the two arguments of max or min, got ',': "),
    ("max(z, 1, 2)", 8, "a comma separates the two arguments of max or min, got ',': "),
    ("1 + max(z)", 4, "max takes 2 arguments, got 1: write max(z, z)."),
    ("2*tanh", 2, "tanh is a function, got 'the end': write tanh(z)."),
    ("tanh*z", 0, "tanh is a function, got '*': write tanh(z)."),
    ("1 + foo(z)", 4, "unknown name 'foo': known are "),
    ("1 + rleu(z)", 4, "unknown name 'rleu': did you mean 'relu'? known are "),
    ("np.tanh(z)", 0, "unknown name 'np.tanh': did you mean 'tanh'? known are "),
    ("z.__class__", 0, "unknown name 'z.__class__': "),
    ("nan", 0, "unknown name 'nan': "),
    ("-inf", 1, "unknown name 'inf': "),
    ("True", 0, "unknown name 'True': "),
    ("lambda z", 0, "unknown name 'lambda': "),
    ("not z", 0, "unknown name 'not': "),
    ("ln(z)", 0, "an expression holds known names, got 'ln': write log."),
    (
        "1 + He21(z)",
        4,
        "an expression holds known names, got 'He21': Hermite polynomials are He0 to He20 and h0 to h20.",
    ),
    ("z0", 0, "an expression holds known names, got 'z0': variables are z or x, z1 to z20 or x1 to x20."),
    ("z21", 0, "an expression holds known names, got 'z21': "),
    ("z + x", 4, "the variables must be of one kind, z, x, z1 … or x1 …, as z is, got 'x': rename it."),
    ("z1 + z", 5, "the variables must be of one kind, z, x, z1 … or x1 …, as z1 is, got 'z': "),
    ("z1 + x1", 5, "the variables must be of one kind, z, x, z1 … or x1 …, as z1 is, got 'x1': "),
    ("z^2", 1, "an expression holds names, numbers, + - * / ** ( ) and commas, got '^': write ** for a power."),
    ("y = z", 2, "an expression holds names, numbers, + - * / ** ( ) and commas, got '=': "),
    ("z + [1]", 4, "an expression holds names, numbers, + - * / ** ( ) and commas, got '[': use round brackets."),
    ("(y := z)", 3, "an expression holds names, numbers, + - * / ** ( ) and commas, got ':': "),
    ("__import__('os')", 11, 'an expression holds names, numbers, + - * / ** ( ) and commas, got "\'": '),
    ("f'{z}'", 1, 'an expression holds names, numbers, + - * / ** ( ) and commas, got "\'": '),
    ("lambda z: z", 8, "an expression holds names, numbers, + - * / ** ( ) and commas, got ':': "),
    ("[z for z in z]", 0, "an expression holds names, numbers, + - * / ** ( ) and commas, got '[': "),
    ("z + \0", 4, "an expression holds names, numbers, + - * / ** ( ) and commas, got '\\x00': "),
    ("z + １", 4, "an expression holds names, numbers, + - * / ** ( ) and commas, got '１': "),
    ("ｚ", 0, "an expression holds names, numbers, + - * / ** ( ) and commas, got 'ｚ': "),
    ("z − 1", 2, "an expression holds names, numbers, + - * / ** ( ) and commas, got '−': write the plain minus -."),
    ("z**-1", 3, "an exponent must be a constant whole number from 0 to 20, got '-1': "),
    ("z**21", 3, "an exponent must be a constant whole number from 0 to 20, got '21': "),
    ("z**0.5 + 1", 3, "an exponent must be a constant whole number from 0 to 20, got '0.5': write sqrt(z) for a root"),
    ("2**z", 3, "an exponent must be a constant whole number from 0 to 20, got 'z': "),
    ("z**pi", 3, "an exponent must be a constant whole number from 0 to 20, got 'pi': "),
    ("9**9**9", 3, "an exponent must be a constant whole number from 0 to 20, got '9**9': "),
    ("z/(1 - 1)", 2, "a divisor must not be 0, got '(1 - 1)': "),
    ("z + 1e400", 4, "a number must be real and <= 1e+12, got '1e400': "),
    ("z*1000000*1e13", 10, "a number must be real and <= 1e+12, got '1e13': "),
    ("z + 10**13", 4, "a number must be real and <= 1e+12, got '10**13': "),
    ("z + exp(1000)", 4, "a number must be real and <= 1e+12, got 'exp(1000)': "),
    ("z + exp(pi**20)", 4, "a number must be real and <= 1e+12, got 'exp(pi**20)': "),
    ("z + log(-1)", 4, "a number must be real and <= 1e+12, got 'log(-1)': "),
]


@pytest.mark.parametrize("text, at, sentence", BAD, ids=[repr(row[0]) for row in BAD])
def test_a_bad_text_is_answered_by_a_sentence_and_a_caret_under_the_place(text, at, sentence):
    with pytest.raises(InputError) as refusal:
        expression(text)
    first, shown, caret = str(refusal.value).split("\n")
    assert first.startswith(sentence) and first.endswith(".")
    assert shown == "    " + text.replace("\0", "\N{REPLACEMENT CHARACTER}") and caret == " " * (4 + at) + "^"


LONG = {
    "a megabyte": ("z" * 2**20, "an expression has at most 1000 characters, got 1048576: "),
    "minus signs": ("-" * 5000 + "z", "an expression has at most 1000 characters, got 5001: "),
    "digits": ("9" * 5000, "an expression has at most 1000 characters, got 5000: "),
    "fewer digits": ("9" * 999, "a number must be real and <= 1e+12, got '999"),
    "brackets": ("(" * 400 + "z" + ")" * 400, "brackets and exponents are at most 50 deep, got 51: "),
    "powers": ("2**" * 200 + "2", "brackets and exponents are at most 50 deep, got 51: "),
    "terms": ("z+" * 260 + "z", "an expression has at most 500 names, numbers and operators, got 521: "),
    "its normal form": ("+".join(["z/3"] * 120 + ["1/3*z"]), None),
    "written out": ("+".join(["1/3*z"] * 80), "an expression has at most 1000 characters, got 1"),
    "a long name": ("a" * 900, "unknown name 'aaa"),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_is_read_or_refused_in_a_few_words(kind):
    text, sentence = LONG[kind]
    if sentence is None:
        assert expression(expression(text).text) == expression(text)
        return
    with pytest.raises(InputError) as refusal:
        expression(text)
    assert str(refusal.value).startswith(sentence) and len(str(refusal.value)) < 600
    _, shown, caret = str(refusal.value).split("\n")
    assert len(shown) < 90 and len(caret) <= len(shown) + 1


def test_deep_but_allowed_texts_are_read():
    assert expression("-" * 499 + "z").text == "-z"
    assert expression("tanh(" * 50 + "z" + ")" * 50)(0.5).shape == ()
    assert np.isfinite(expression("+".join(["z"] * 250))(0.5))


@pytest.mark.parametrize("bad", [3, None, b"z", True, ["z"]])
def test_what_is_not_a_text_is_refused(bad):
    with pytest.raises(InputError, match="an expression must be a text, got"):
        expression(bad)


PIECES = [
    "z", "x", "z1", "z2", "x20", "pi", "e", "tanh(", "max(", "He3(", "h20(", "abs(", "log(", "(", ")", "+", "-", "*",
    "/", "**", "**2", "**20", ",", " ", "1", "0", "2.5", "1e3", "1e-9", ".", "1e400", "_", "^", "'", "[", "\0", "\n",
    "lambda", "if", "é", "π", "１", "\ud800", "nan", "0x10", "1_0", "9" * 30, "//", "==", ":=", "{", "#", "\\",
]  # fmt: skip


def random_text(draw):
    """Random characters, random pieces, or an expression with a few characters changed."""
    kind = draw.random()
    if kind < 0.15:
        return "".join(
            chr(draw.choice((draw.randrange(128), draw.randrange(0x3000)))) for _ in range(draw.randrange(30))
        )
    if kind < 0.4:
        return "".join(draw.choices(PIECES, k=draw.randrange(1, 12)))
    text = draw.choice(SOME)
    if kind < 0.6:
        text = f"{draw.choice(('-', 'sin', 'exp', 'h2', '2*', ''))}({text}){draw.choice('+-*/')}({draw.choice(SOME)})"
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice((*PIECES, "")) + text[at + draw.randrange(3) :]
    return text


def test_any_text_is_an_expression_or_refused():
    draw, rows, valid = random.Random(7), np.array([[-1.5, 0.0, 2.0] * 7]), 0
    for _ in range(6000):
        text = random_text(draw)
        try:
            found = expression(text)
        except InputError as refusal:
            assert len(str(refusal)) < 800 and str(refusal).count("\n") == 2
            continue
        valid += 1
        assert isinstance(found, Expression) and expression(found.text) == found
        assert expression(found.text).prefix == found.prefix and found.latex
        assert found.monomials is None or all(map(math.isfinite, found.monomials.values()))
        assert found(rows).shape == ((1,) if found.indexed else (1, 21))
    assert 600 < valid < 5100


def test_operators_bind_as_in_python():
    draw, names = random.Random(8), {"z": 1.7, "pi": math.pi, "sin": math.sin, "max": max}
    compared = 0
    for _ in range(1000):
        words = ["z", "2", "0.5", "pi", "sin(z)", "max(z, 1)", "(z - 3)", "z**2", "z**3", "2**3**2"]
        text = "".join(
            draw.choice(("", "", "-", "+", "--")) + draw.choice(words) + draw.choice("+-*/")
            for _ in range(draw.randrange(1, 6))
        ) + draw.choice(words)  # fmt: skip
        expected = eval(text, {"__builtins__": {}}, names)
        assert float(expression(text)(1.7)) == pytest.approx(expected, rel=1e-9, abs=1e-9), text
        compared += 1
    assert compared == 1000

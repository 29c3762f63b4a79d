"""A problem in plain symbols: what it is, what a reduction keeps, and the equations that are solved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from widelimit.problem.mobility import Mobility
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Squares
from widelimit.problem.schedules import Constant

if TYPE_CHECKING:
    from widelimit.problem.problem import Problem


def describe(problem: Problem) -> str:
    """Several lines: data, neuron, start, reduction, features and flow."""
    d = "∞" if math.isinf(problem.data.d) else f"{problem.data.d:g}"
    lines = [
        ("data", f"d = {d}: {problem.data.sentence}"),
        ("neuron", problem.neuron.sentence),
        ("start", f"{problem.initial}"),
        ("reduction", _reduction(problem)),
        ("network", _network(problem)),
        ("risk", "R = E (y − f)²" + (f" + {_penalty(problem, 2)} in the objective" if problem.ridge else "")),
        ("flow", _flow(problem)),
    ]
    return "\n".join(f"{name:<10} {text}" for name, text in lines)


def _reduction(problem: Problem) -> str:
    if not problem.groups:
        return f"none: θ in all {problem.D} coordinates, expectations over {problem.data.samples} samples"
    if problem.no_reduction:
        return f"none: {problem.no_reduction}"
    names = problem.reduced_coordinates
    parts = _kept(problem) + _radii(problem)
    exact = "d → ∞" if math.isinf(problem.data.d) else f"exact at d = {problem.data.d:g}"
    return (
        f"θ = ({', '.join(names)}), {len(names)} dimension{'s' if len(names) > 1 else ''}, {exact}; {', '.join(parts)}"
    )


def _kept(problem: Problem) -> list[str]:
    k = problem.kept
    return [] if not k else ["u = w_1"] if k == 1 else [f"u = ({_span('w', 1, k)})"]


def _radii(problem: Problem) -> list[str]:
    first, parts = problem.kept + 1, []
    names = [name for name in problem.reduced_coordinates if name.startswith("r")]
    for name, g in zip(names, problem.groups, strict=True):
        if math.isinf(g.d):
            parts.append(f"{name} = |w| on {'the others' if g.share == 1 else f'a share of {g.share:.3g} of them'}")
            continue
        last = first + int(g.d) - 1
        parts.append(f"{name} = |({_span('w', first, last)})|")
        first = last + 1
    return parts


def _span(letter: str, first: int, last: int) -> str:
    dots = ", …, " if last > first + 1 else ", "
    return f"{letter}_{first}{dots}{letter}_{last}" if last > first else f"{letter}_{first}"


def _network(problem: Problem) -> str:
    neuron, alpha = problem.neuron, _alpha(problem)
    if not isinstance(neuron, Ridge):
        return f"f(x) = {alpha}∫ σ*(x; θ) ρ(dθ)"
    a, b = ("a " if "a" in neuron.scalars else ""), (" + b" if "b" in neuron.scalars else "")
    if not problem.groups or problem.no_reduction:
        return f"f(x) = {alpha}∫ {a}σ(⟨w, x⟩{b}) ρ(dθ)"
    names = [name for name in problem.reduced_coordinates if name.startswith("r")]
    noise = " + ".join(f"τ{name[1:]} {name} G{name[1:]}" for name in names)
    if all(all(t == 1 for t in g.tau) for g in problem.groups):
        noise = noise.replace("τ ", "")
    letter = "G"
    if problem.data.on_sphere:
        letter, noise = "T", noise.replace("G", f"√{problem.groups[0].d:g} T")
    kept = ("⟨u, z⟩ + " if problem.kept > 1 else "u z + ") if problem.kept else ""
    where = "z" if problem.kept else "class"
    order = "" if math.isinf(problem.data.d) or problem.data.on_sphere else ", and its Hermite orders"
    return f"f({where}) = {alpha}∫ {a}E_{letter} σ({kept}{noise}{b}) ρ(dθ){order}"


def _alpha(problem: Problem) -> str:
    """α in front of an integral; nothing in the mean-field regime."""
    return "" if problem.alpha == 1 else "√N " if isinstance(problem.alpha, str) else f"{problem.alpha:g} "


def _penalty(problem: Problem, times: int = 0) -> str:
    """λ v(θ), or ``times`` its mean over ρ."""
    mean, scale = times > 0, problem.ridge * (times or 1)
    if problem.regulariser == Squares():
        return f"{scale / 2:g} {'∫|θ|² dρ' if mean else '|θ|²'}"
    return f"{scale:g} {'∫v dρ' if mean else 'v(θ)'}, v = {problem.regulariser}"


def _flow(problem: Problem) -> str:
    xi = "" if isinstance(problem.schedule, Constant) else "ξ(t) "
    noise = "" if math.isinf(problem.beta) else f" + 2 {xi}β⁻¹ Δρ, β = {problem.beta:g}"
    psi = "Ψ = V + ∫ U dρ" + (f" + {_penalty(problem)}" if problem.ridge else "")
    rates, slow = problem.mobility != Mobility(), "" if problem.alpha == 1 else "α⁻² "
    noise = noise.replace("2 ", f"2 {slow}", 1)
    return f"∂_t ρ = 2 {slow}{xi}∇·(ρ {'M ' * rates}∇Ψ){noise},   {psi}{f',   M = {problem.mobility}' * rates}"

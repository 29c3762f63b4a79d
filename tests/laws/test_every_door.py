"""Every public function and constructor, called with something odd in place of one or two good arguments: it works, or
one sentence says what was expected. Nothing else comes out: no error from inside, no warning of NumPy, no hang.
"""

import inspect
import math
import signal
import threading
import types
import warnings
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.errors import shown
from widelimit.frozen import Value

LONGEST = 120.0  # seconds of one call, compilation on a busy machine included


@cache
def made():
    """Good objects, all of one small problem; what needs a run is run once."""
    ridge = wl.neurons.ridge("erf")
    plain = wl.Problem(wl.data.gaussian_classes(6, 0.5), ridge, wl.initial.gaussian(1.0))
    cube = wl.Problem(
        wl.data.hypercube(math.inf, "z1"), wl.neurons.ridge("tanh", outer="trained"), wl.initial.gaussian(1.0, a=1.0)
    )
    cloud = wl.Cloud(np.array([[1.0], [2.0]]), np.array([0.5, 0.5]), ("r",))
    grid = wl.Density((np.linspace(0.5, 2.5, 9),), np.full(8, 0.125), ("r",), (6.0,))
    return types.SimpleNamespace(
        plain=plain,
        cube=cube,
        cloud=cloud,
        grid=grid,
        sgd=wl.SGD(4, 0.01),
        land=wl.landscape(plain, reduced=True),
        noisy=wl.Problem(plain.data, ridge, plain.initial, ridge=0.5, beta=20.0),
        lazy=wl.Problem(
            wl.data.empirical([[0.0, 1.0], [1.0, 0.0]], [1, -1]), ridge, wl.initial.gaussian(1.0), alpha=9.0
        ),
        rows=wl.data.empirical([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.5]], [1, -1, 0, 2]),
    )


@cache
def ran():
    """The same, of runs."""
    m = made()
    cube = wl.solve(m.cube, wl.MeanField(4, check=False), 0.02, save=5)
    return types.SimpleNamespace(
        cube=cube,
        curves=wl.learning_curves(cube),
        solution=wl.solve(m.plain, m.sgd, 0.02, save=2),
        replicas=wl.solve(m.plain, m.sgd, 0.02, save=2, replicas=3),
        grid=wl.solve(m.noisy, wl.FiniteVolume(8, box=((0.0, 3.0),)), 0.02, save=2),
        limit=wl.solve(m.plain, wl.MeanField(8, check=False), 0.02, save=3),
        finite=wl.solve(m.plain, m.sgd, 0.02, save=3, replicas=4),
        gibbs=wl.gibbs(m.noisy, 32),
        comparison=wl.compare(m.plain, 4, 0.01, 0.02, save=2, chain=("GD", "SGD"), replicas=4),
    )


def light():
    """Calls that compile little: name, function, good arguments."""
    m, a, i, s = made(), wl.activations, wl.initial, wl.schedules
    o, cloud, grid, land = wl.observables, m.cloud, m.grid, m.land
    line, edges, theta = np.array([[1.0], [2.0]]), np.linspace(0.0, 3.0, 4), np.ones((2, 6))
    key = jax.random.key(0)
    return {
        "Problem": (wl.Problem, {"data": m.plain.data, "neuron": m.plain.neuron, "initial": m.plain.initial,
                    "ridge": 0.1, "beta": 10.0, "schedule": s.constant(), "mobility": {"w": 1.0},
                    "regulariser": wl.regularisers.squares(), "alpha": 2.0}),
        "Problem.sample_initial": (m.plain.sample_initial, {"key": key, "n": 2}),
        "Problem.start_of": (m.cube.start_of, {"scalar": "a"}),
        "landscape": (wl.landscape, {"problem": m.plain, "reduced": True, "tolerance": 1e-10}),
        "reduce": (wl.reduce, {"problem": m.plain, "theta": theta}),
        "Mobility": (wl.Mobility, {"a": 1.0, "b": 0.5, "w": s.window(0.0, 1.0)}),
        "Mobility.at": (wl.Mobility().at, {"block": "a", "t": 0.5}),
        "SGD": (wl.SGD, {"n": 4, "step": 0.1, "batch": 1, "dtype": "float64", "stepwise": True}),
        "GD": (wl.GD, {"n": 4, "step": 0.1, "coordinates": "full"}),
        "ParticleFlow": (wl.ParticleFlow, {"n": 4, "coordinates": "full", "rtol": 1e-8, "atol": 1e-8,
                         "noise_step": 1e-3, "stiff": False, "substeps": 2}),
        "NonlinearFlow": (wl.NonlinearFlow, {"n": 4, "coordinates": "full", "points": 8, "placement": "gauss",
                          "rtol": 1e-8, "atol": 1e-8, "noise_step": 1e-3, "stiff": False,
                          "substeps": 2, "check": True}),
        "MeanField": (wl.MeanField, {"points": 8, "placement": "gauss", "rtol": 1e-8, "atol": 1e-8, "stiff": False,
                      "check": True, "noise_step": 1e-3, "substeps": 2}),
        "FiniteVolume": (wl.FiniteVolume, {"cells": 8, "box": ((0.0, 3.0),), "step": 0.1, "tolerance": 1e-3,
                         "check": True}),
        "JKO": (wl.JKO, {"step": 0.1, "cells": 8, "check": False}),
        "TangentFlow": (wl.TangentFlow, {"n": 4, "coordinates": "full", "rtol": 1e-8, "atol": 1e-8, "stiff": False}),
        "TangentSGD": (wl.TangentSGD, {"n": 4, "step": 0.1, "batch": 1}),
        "Problem.at_width": (m.plain.at_width, {"n": 4}),
        "stationarity": (wl.stationarity, {"problem": m.plain, "rho": cloud, "tolerance": 1e-6}),
        "stability": (wl.stability, {"problem": m.plain, "rho": cloud}),
        "initial_support": (wl.initial_support, {"problem": m.plain}),
        "catalogue.entries": (wl.catalogue.entries, {"paper": "mmn18"}),
        "catalogue.entry": (wl.catalogue.entry, {"name": "mmn18-risk"}),
        "bounds.bound": (wl.bounds.bound, {"theorem": "general", "constant": 1.0,
                         "at": wl.bounds.setting(10, 0.1, 4, 1.0), "z": 1.0}),
        "bounds.setting": (wl.bounds.setting, {"n": 10, "step": 0.1, "dimension": 4, "t": 1.0}),
        "bounds.general": (wl.bounds.general, {"n": 10, "step": 0.1, "dimension": 4, "z": 1.0}),
        "bounds.dimension_free": (wl.bounds.dimension_free, {"n": 10, "step": 0.1, "dimension": 4, "z": 1.0}),
        "bounds.noisy_general": (wl.bounds.noisy_general, {"n": 10, "step": 0.1, "dimension": 4, "t": 1.0, "z": 1.0}),
        "bounds.sampling": (wl.bounds.sampling, {"n": 10, "z": 1.0}),
        "bounds.gronwall": (wl.bounds.gronwall, {"forcing": np.ones(2), "growth": np.ones(2)}),
        "ntk": (wl.ntk, {"problem": m.plain, "x": theta, "x2": theta, "rho": theta}),
        "KernelFlow": (wl.KernelFlow, {"problem": m.plain, "x": theta, "y": np.ones(2)}),
        "kernel_regression": (wl.kernel_regression, {"problem": m.lazy, "x": np.ones((2, 2)), "ridge": 0.1}),
        "kernel_learning_curve": (wl.kernel_learning_curve, {"problem": m.plain, "powers": [0, 1], "sizes": [4, 8],
                                  "ridge": 0.1}),
        "overlap_flow": (wl.overlap_flow, {"link": "h2(z)", "start": 0.1, "t_end": 1.0, "activation": "h2(z)",
                         "save": 5}),
        "OverlapFlow.time_to": (wl.overlap_flow("h2(z)", 0.1, 1.0).time_to, {"level": 0.5}),
        "OnlineSGD": (wl.OnlineSGD, {"activation": "h2(z)", "step": 0.1}),
        "FilteredPCA": (wl.FilteredPCA, {"share": 0.1}),
        "filtered_pca": (wl.filtered_pca, {"x": theta, "y": np.array([1.0, 2.0]), "k": 1, "threshold": 0.5}),
        "filtered_pca.overlap": (wl.filtered_pca(theta, np.array([1.0, 2.0])).overlap, {"truth": np.ones(6)}),
        "samples_to_overlap": (wl.samples_to_overlap, {"learner": wl.FilteredPCA(), "link": "z",
                               "dimensions": [2, 3, 4], "level": 0.5, "noise": 0.1, "replicas": 16, "seed": 0}),
        "plateaus": (wl.plateaus, {"times": np.arange(5.0), "values": np.ones(5), "flat": 0.1, "ratio": 1.5}),
        "Cloud": (wl.Cloud, {"theta": line, "weights": np.array([0.5, 0.5]), "coordinates": ("r",)}),
        "Cloud.column": (cloud.column, {"coordinate": "r"}),
        "Cloud.mean": (cloud.mean, {"values": np.ones(2)}),
        "Density": (wl.Density, {"edges": (edges,), "masses": np.full(3, 1 / 3), "coordinates": ("r",),
                    "dimensions": (6.0,)}),
        "Density.column": (grid.column, {"coordinate": "r"}),
        "Density.mean": (grid.mean, {"values": np.ones(8)}),
        "Density.marginal": (grid.marginal, {"coordinate": "r"}),
        "Solution": (wl.Solution, {"dataset": None}),
        "load": (wl.load, {"path": "there-is-no-such-file.nc"}),
        "Spec": (wl.Spec, {"problem": m.plain, "methods": m.sgd, "t_end": 1.0, "seed": 0, "save": 3, "replicas": 2,
                 "keep": "reduced"}),
        "Spec.from_toml": (wl.Spec.from_toml, {"source": wl.Spec(m.plain, m.sgd, t_end=1.0).to_toml()}),
        "Store": (wl.Store, {"folder": "runs", "every": 60.0}),
        "Engine": (wl.Engine, {"workers": 2, "retries": 1, "together": 8}),
        "Store.runs": (wl.Store("there-is-no-such-folder").runs, {"condition": None}),
        "landscape.V": (land.V, {"theta": line}),
        "landscape.U": (land.U, {"theta": line, "other": line}),
        "landscape.psi": (land.psi, {"theta": line, "rho": cloud}),
        "landscape.grad_psi": (land.grad_psi, {"theta": line, "rho": cloud}),
        "landscape.risk": (land.risk, {"rho": cloud}),
        "landscape.energy": (land.energy, {"rho": cloud}),
        "landscape.free_energy": (land.free_energy, {"rho": grid, "beta": 10.0}),
        "landscape.risk_error": (land.risk_error, {"rho": cloud}),
        "landscape.errors": (land.errors, {"rho": cloud}),
        "data.gaussian_classes": (wl.data.gaussian_classes, {"d": 4, "deviations": [1.5, 0.5], "informative": 2,
                                  "labels": [1, -1], "weights": [1, 2], "samples": 64}),
        "data.gaussian_classes of a contrast": (wl.data.gaussian_classes, {"d": 4, "delta": 0.5}),
        "data.single_index": (wl.data.single_index, {"d": 4, "link": "z**2", "noise": 0.1, "nodes": 8, "samples": 64}),
        "data.multi_index": (wl.data.multi_index, {"d": 4, "k": 2, "link": "z1*z2", "noise": 0.1, "nodes": (8, 8),
                             "samples": 64}),
        "data.hypercube": (wl.data.hypercube, {"d": 4, "target": "z1", "noise": 0.1, "k": 1, "samples": 64}),
        "data.sphere": (wl.data.sphere, {"d": 4, "target": "z1", "noise": 0.1, "nodes": 8, "k": 1, "samples": 64}),
        "data.empirical": (wl.data.empirical, {"x": theta, "y": np.ones(2), "replacement": True}),
        "data.empirical.split": (m.rows.split, {"fraction": 0.5, "seed": 0}),
        "data.sampler": (wl.data.sampler, {"function": lambda key, n: (jnp.ones((n, 2)), jnp.ones(n)), "d": 2,
                         "samples": 64}),
        "neurons.ridge": (wl.neurons.ridge, {"activation": "relu", "outer": "fixed", "bias": "trained",
                          "inner": "free"}),
        "neurons.custom": (wl.neurons.custom, {"function": lambda x, theta: theta @ x, "D": 2}),
        "activations.activation": (a.activation, {"choice": "tanh(x)"}),
        "activations.custom": (a.custom, {"function": jnp.tanh, "kinks": [0.0], "name": "t", "derivative": jnp.cos}),
        "activations.custom of an expression": (a.custom, {"function": "tanh(x)", "kinks": [0.0]}),
        "activations.hermite": (a.hermite, {"k": 2}),
        "activations.hinges": (a.hinges, {"knots": [0.0, 1.0], "jumps": [1.0, 2.0]}),
        "activations.piecewise_linear": (a.piecewise_linear, {"knots": [(0, 0), (1, 1)], "left_slope": 0.0,
                                         "right_slope": 1.0}),
        "activations.polynomial": (a.polynomial, {"coefficients": [0.0, 1.0]}),
        "activations.ramp": (a.ramp, {"start": (0.0, 0.0), "end": (1.0, 1.0)}),
        "activations.name_of": (a.name_of, {"choice": a.relu}),
        "initial.gaussian": (i.gaussian, {"scale": 1.0, "a": 1.0, "b": i.normal()}),
        "initial.sphere": (i.sphere, {"radius": 1.0, "a": 1.0, "b": i.normal()}),
        "initial.array": (i.array, {"theta": line, "coordinates": "reduced"}),
        "initial.paired": (i.paired, {"start": i.gaussian(1.0, a=1.0)}),
        "initial.blocks": (i.blocks, {"sizes": [1, 3], "laws": [i.signs(), i.gaussian(1.0)]}),
        "initial.constant": (i.constant, {"value": 1.0}),
        "initial.normal": (i.normal, {"mean": 0.0, "std": 1.0}),
        "initial.signs": (i.signs, {"size": 1.0}),
        "initial.uniform": (i.uniform, {"low": 0.0, "high": 1.0}),
        "schedules.constant": (s.constant, {"value": 1.0}),
        "schedules.exponential": (s.exponential, {"rate": 1.0}),
        "schedules.power": (s.power, {"exponent": 0.5}),
        "schedules.window": (s.window, {"start": 0.0, "stop": 1.0}),
        "schedules.schedule": (s.schedule, {"choice": jnp.exp}),
        "regularisers.path": (wl.regularisers.path, {}),
        "regularisers.rounded": (wl.regularisers.rounded, {}),
        "regularisers.squares": (wl.regularisers.squares, {"a": 1.0, "b": 0.0, "w": 1.0}),
        "regularisers.regulariser": (wl.regularisers.regulariser, {"choice": lambda a, b, w: a * a}),
        "observables.average": (lambda chi, rho: o.average(chi)(rho), {"chi": lambda t: t[:, 0], "rho": cloud}),
        "observables.mass": (lambda predicate, rho: o.mass(predicate)(rho), {"predicate": lambda t: t[:, 0] > 1,
                             "rho": cloud}),
        "observables.moment": (lambda coordinate, power, rho: o.moment(coordinate, power)(rho), {"coordinate": "r",
                               "power": 2, "rho": cloud}),
        "observables.variance": (lambda coordinate, rho: o.variance(coordinate)(rho), {"coordinate": "r", "rho": grid}),
        "observables.quantile": (lambda coordinate, q, rho: o.quantile(coordinate, q)(rho), {"coordinate": "r",
                                 "q": 0.5, "rho": cloud}),
        "observables.risk": (lambda landscape, rho: o.risk(landscape)(rho), {"landscape": land, "rho": cloud}),
        "observables.test_risk": (o.test_risk, {"problem": m.plain, "x": theta, "y": np.ones(2), "rho": theta}),
        "observables.summary": (o.summary, {"rho": cloud}),
        "observables.binned_density": (o.binned_density, {"rho": grid, "coordinate": "r", "edges": edges}),
        "observables.smooth_density": (o.smooth_density, {"rho": cloud, "coordinate": "r", "edges": edges}),
        "observables.mixture": (o.mixture, {"rho": cloud, "other": cloud, "s": 0.5}),
        "observables.displacement": (o.displacement, {"rho": cloud, "other": cloud, "s": 0.5}),
        "observables.wasserstein": (o.wasserstein, {"rho": cloud, "other": grid, "p": 2, "coordinates": "r"}),
        "observables.pair_distance": (o.pair_distance, {"rho": cloud, "other": cloud, "norm": "max",
                                      "coordinates": ("r",)}),
        "observables.entropy": (lambda problem, rho: o.entropy(problem)(rho), {"problem": m.noisy, "rho": grid}),
        "observables.free_energy": (lambda problem, rho: o.free_energy(problem)(rho), {"problem": m.noisy,
                                    "rho": grid}),
        "observables.fisher_information": (lambda problem, rho: o.fisher_information(problem)(rho),
                                           {"problem": m.noisy, "rho": grid}),
        "observables.dissipation": (lambda problem, rho: o.dissipation(problem)(rho), {"problem": m.noisy,
                                    "rho": grid}),
        "observables.coefficient": (lambda problem, basis, rho: o.coefficient(problem, basis)(rho),
                                    {"problem": m.cube, "basis": "z1",
                                     "rho": wl.Cloud([[1.0, 0.5, 1.0]], [1.0], ("a", "u", "r"))}),
        "observables.coefficient_error": (lambda problem, basis, rho: o.coefficient_error(problem, basis)(rho),
                                          {"problem": m.cube, "basis": "z1",
                                           "rho": wl.Cloud([[1.0, 0.5, 1.0]], [1.0], ("a", "u", "r"))}),
        "observables.target_coefficient": (o.target_coefficient, {"problem": m.cube, "basis": "z1"}),
        "hermite": (wl.hermite, {"link": "tanh(z)", "order": 3}),
        "hermite of a function": (wl.hermite, {"link": np.tanh, "order": 3, "k": 1}),
        "walsh": (wl.walsh, {"target": "max(z1, z2)", "order": 2}),
        "gegenbauer": (wl.gegenbauer, {"target": "z1*z2", "d": 5, "order": 3}),
        "leap": (wl.leap, {"target": "z1 + z1*z2", "law": "gauss"}),
        "complexity": (wl.complexity, {"target": "z1 + z1*z2", "law": "sphere", "d": 5, "order": 3}),
        "barron": (wl.barron, {"f": "x**2 + cos(x)", "radius": 1.0}),
        "Barron.bound": (wl.barron("cos(x)", 1.0).bound, {"n": 10}),
        "approximation": (wl.approximation, {"barron": wl.barron("cos(x)", 1.0), "widths": [4, 8], "draws": 2,
                          "trained": [], "t_end": 1.0, "seed": 0}),
    }  # fmt: skip


def heavy():
    """Calls that run a dynamics, or need the result of one."""
    m, r, o = made(), ran(), wl.observables
    return {
        "solve": (wl.solve, {"problem": m.plain, "method": m.sgd, "t_end": 0.02, "observers": {"m": o.moment("r")},
                  "progress": False, "throw": True, "seed": 0, "save": 2, "replicas": None, "keep": "reduced"}),
        "sweep": (wl.sweep, {"spec": wl.Spec(m.plain, m.sgd, t_end=0.02, save=2), "axes": {"seed": [0, 1]},
                  "observers": {"m": o.moment("r")}, "store": None, "yes": False}),
        "estimate": (wl.estimate, {"problem": m.plain, "method": m.sgd, "t_end": 0.02, "seed": 0, "save": 2,
                     "replicas": None, "keep": "reduced"}),
        "compare": (wl.compare, {"problem": m.plain, "n": 4, "step": 0.01, "t_end": 0.02, "progress": False,
                    "tests": {"m": o.moment("r")}, "seed": 0, "replicas": None, "save": 2, "chain": ("GD", "SGD"),
                    "coordinates": "full", "points": 8, "throw": True}),
        "rates": (wl.rates, {"problem": m.plain, "over": "n", "values": [4, 8, 16], "progress": False, "n": 4,
                  "step": 0.01, "t_end": 0.02, "seed": 0, "replicas": 4, "chain": ("PD", "GD"),
                  "coordinates": "reduced", "points": 8}),
        "plan": (wl.plan, {"problem": m.plain, "tolerance": 0.5, "confidence": 0.5, "t_end": 0.02, "runs": 4, "seed": 0,
                 "points": 8, "progress": False}),
        "commute": (wl.commute, {"problem": m.plain, "n": 4, "t_end": 0.02, "statistics": {"m": o.moment("r")},
                    "progress": False, "seed": 0, "replicas": 3, "save": 2, "coordinates": "reduced"}),
        "linearise": (wl.linearise, {"problem": m.lazy, "n": 4, "t_end": 0.02, "step": 0.01, "coordinates": "full",
                      "seed": 0, "replicas": None, "save": 2, "progress": False}),
        "regime": (wl.regime, {"problem": m.lazy, "n": 4, "t_end": 0.02, "step": 0.01, "seed": 0, "inputs": 4,
                   "progress": False}),
        "regimes": (wl.regimes, {"problem": m.lazy, "n": 4, "t_end": 0.02, "alpha": [1.0, 2.0], "step": 0.01,
                    "seed": 0, "inputs": 4, "progress": False}),
        "relative_scale": (wl.relative_scale, {"problem": m.lazy, "n": 4, "rho": np.ones((4, 2)), "seed": 0}),
        "lazy_lemmas": (wl.lazy_lemmas, {"solution": r.solution}),
        "convergence_time": (wl.convergence_time, {"solution": r.limit, "eta": 0.1, "level": 0.0, "n": 10,
                             "bound": None, "step": 0.1}),
        "fit_bound": (wl.fit_bound, {"theorem": "general", "gaps": (r.limit, r.finite), "quantity": "risk_gap",
                      "confidence": 0.9, "seed": 0}),
        "proof_terms": (wl.proof_terms, {"problem": m.plain, "n": 4, "step": 0.01, "t_end": 0.02, "seed": 0, "save": 2,
                        "points": 8}),
        "learning_curves": (wl.learning_curves, {"solution": r.cube, "order": 1}),
        "LearningCurves.learning_time": (r.curves.learning_time, {"component": "z1", "share": 0.5}),
        "LearningCurves.growth": (r.curves.growth, {"component": "z1", "start": 0.005, "end": 0.02}),
        "LearningCurves.plateaus": (r.curves.plateaus, {"of": "risk", "flat": 0.1, "ratio": 1.5}),
        "gibbs": (wl.gibbs, {"problem": m.noisy, "points": 32, "on": m.grid, "n": 10, "seed": 0}),
        "cooling": (wl.cooling, {"problem": m.noisy, "betas": [10.0, 20.0]}),
        "certificate": (wl.certificate, {"problem": m.plain, "rho": m.cloud, "within": {"w": 5.0}, "points": 64}),
        "minimise": (wl.minimise, {"problem": m.plain, "tolerance": 1e-3, "atoms": 2, "within": {"w": 5.0},
                     "points": 64}),
        "two_geometries": (wl.two_geometries, {"problem": m.plain, "rho": m.cloud, "other": m.cloud, "points": 3}),
        "decay": (wl.decay, {"problem": m.noisy, "solution": r.grid}),
        "particle_bias": (wl.particle_bias, {"problem": m.noisy, "sizes": [4, 8], "replicas": 2, "t_end": 0.02,
                          "step": 0.01, "seed": 0}),
        "figure": (wl.figure, {"record": r.solution, "coordinate": "r", "times": 2}),
        "figure with all options": (wl.figure, {"record": r.solution, "show": "risk", "coordinate": None, "times": 2,
                                    "ax": None, "labels": ["a"], "title": "t", "log": "y", "style": "paper"}),
        "animate": (wl.animate, {"solution": r.limit, "path": "film.gif", "coordinate": "r", "fps": 5.0,
                    "progress": False}),
        "resume": (wl.resume, {"solution": r.solution}),
        "Comparison.save": (r.comparison.save, {"path": "gap.nc"}),
        "Solution.at": (r.solution.at, {"t": 0.0}),
        "Solution.replica": (r.replicas.replica, {"r": 0}),
        "Solution.save": (r.solution.save, {"path": "run.nc"}),
        "Gibbs.density": (r.gibbs.density, {"coordinate": "r", "bins": 10}),
        "Comparison.gap": (r.comparison.gap, {"part": "total", "quantity": "risk_gap"}),
        "Comparison.table": (r.comparison.table, {"rows": 2}),
        "observables.fluctuations": (o.fluctuations, {"solution": r.replicas, "statistics": {"m": o.moment("r")}}),
        "observables.weak_residual": (o.weak_residual, {"problem": m.plain, "solution": r.limit,
                                      "chi": lambda theta: theta[0] ** 2}),
    }  # fmt: skip


def beasts():
    """What no one should pass, and someone will."""
    m = made()
    return [
        None, "", "x", "nan", "z1", -1, 0, 1e400, math.nan, -math.inf, True, False, [], {}, (), object(), lambda *a: a,
        10**400, -(10**400), 1e-320, 2.5, b"bytes", "a\0b", [None], ["x", 1], [[1.0], [1.0, 2.0]], {"a": None},
        {1: 2}, {"x": print}, range(3), iter([1.0]), 1j, np.float16(0.5), np.float64("nan"), np.int8(1), np.bool_(True),
        np.array(0.5), np.array([]), np.zeros((0, 3)), np.ones((2, 2, 2)), np.ones(3, complex), np.array(["a", "b"]),
        np.array([object()]), np.ones((2, 1), "float16"), np.array([[math.nan], [1.0]]), np.array([1, 2, 3], "int8"),
        np.array("2020-01-01", "datetime64[D]"), jnp.ones(2), wl, np, Value, wl.Problem, ValueError("x"), m.plain,
        m.cloud, m.grid, m.land, m.sgd, m.plain.data, m.plain.neuron, wl.initial.normal(), math.sin, str, Path("."),
        wl.observables.moment("q"),
    ]  # fmt: skip


class TooLong(Exception):
    """A call that does not come back."""


@contextmanager
def limited(seconds):
    def stop(*_):
        raise TooLong(f"more than {seconds} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def complaint(function, arguments):
    """What is wrong with how a call ends; None if it works or is refused in one sentence."""
    first = [arguments.pop(name) for name in ("record", "rho") if name in arguments and takes_first(function)]
    try:
        with warnings.catch_warnings(), limited(LONGEST):
            warnings.simplefilter("error", RuntimeWarning)
            function(*first, **arguments)
    except wl.InputError as error:
        sentence, *pointer = str(error).split("\n")  # an expression is shown with a caret under the place
        good = sentence.endswith(".") and len(str(error)) < 1000 and (not pointer or pointer[-1].strip() == "^")
        return None if good else f"not one sentence: {str(error)[:300]!r}"
    except wl.Diverged:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def takes_first(function):
    """Whether a function calls its first argument otherwise than the table does."""
    return function is wl.figure or function in (
        getattr(wl.observables, name) for name in dir(wl.observables) if name != "test_risk"
    )


def odd_calls(doors, calls, seed):
    """Calls of random doors with one or two odd arguments: a text that names it, the function and its arguments."""
    rng, zoo = np.random.default_rng(seed), beasts()
    names = [name for name, (_, good) in doors.items() if good]
    for _ in range(calls):
        function, good = doors[name := names[rng.integers(len(names))]]
        chosen = rng.choice(sorted(good), size=min(len(good), 1 + int(rng.random() < 0.3)), replace=False)
        odd = {str(key): zoo[rng.integers(len(zoo))] for key in chosen}
        yield f"{name}({', '.join(f'{key}={shown(value)}' for key, value in odd.items())})", function, {**good, **odd}


def abused(doors, calls, seed):
    """What is wrong with such calls."""
    answers = ((call, complaint(function, odd)) for call, function, odd in odd_calls(doors, calls, seed))
    return {call: wrong for call, wrong in answers if wrong}


def test_every_public_callable_has_a_door_in_the_table():
    homes = {"": wl} | {f"{name}.": getattr(wl, name) for name in wl.__all__ if name.islower() and name in MODULES}
    results = {"Bias", "Comparison", "Cooling", "Decay", "Diverged", "Gibbs", "InputError", "Interrupted", "Rates"}
    results |= {
        "Certificate",
        "Forecast",
        "Minimum",
        "NetworkPlan",
        "TwoGeometries",
        "Stopped",
        "Sweep",
        "Kernel",
        "Lemma",
        "Linearisation",
        "Regime",
        "Regimes",
        "RelativeScale",
        "Verdict",
        "ConvergenceTime",
        "FittedBound",
        "FlowRate",
        "InitialSupport",
        "Modes",
        "ProofTerms",
        "Stability",
        "Stationarity",
        "LearningCurves",
        "OverlapFlow",
        "OverlapSamples",
        "Plateau",
        "Spectrum",
        "SphereSpectrum",
        "Leap",
        "Complexity",
        "Barron",
        "Approximation",
    }
    public = {f"{prefix}{name}" for prefix, home in homes.items() for name in dir(home) if called(getattr(home, name))}
    kinds = {name for name in public if "." in name and name.split(".")[1][0].isupper()}
    missing = public - results - kinds - set(light()) - HEAVY
    assert not missing


MODULES = tuple(name for names in wl._MODULES.values() for name in names if name != "torch")
HEAVY = {
    "catalogue.reproduce",
    "linearise",
    "regime",
    "regimes",
    "relative_scale",
    "lazy_lemmas",
    "learning_curves",
    "plan",
}
HEAVY |= {"convergence_time", "fit_bound", "proof_terms", "certificate", "minimise", "two_geometries"}
HEAVY |= {"sweep", "solve", "compare", "rates", "commute", "gibbs", "cooling", "decay", "particle_bias", "figure",
         "animate", "estimate", "resume", "observables.fluctuations", "observables.weak_residual"}  # fmt: skip


def called(thing):
    return callable(thing) and not isinstance(thing, Value)


@pytest.mark.slow
def test_good_arguments_pass_every_door():
    del (doors := light())["Solution"], doors["load"]
    assert not {name: wrong for name, (function, good) in doors.items() if (wrong := complaint(function, dict(good)))}


def test_odd_arguments_are_answered_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not abused(light(), 300, seed=7)


@pytest.mark.parametrize("name", sorted(HEAVY - {"animate", "resume", "decay", "figure", "observables.fluctuations"}))
def test_what_would_run_for_long_refuses_odd_arguments_first(name):
    m, odd = made(), object()
    few = {"problem": m.plain, "method": m.sgd, "t_end": 0.1, "n": 4, "step": 0.1, "over": "n", "values": [4, 8, 16]}
    few |= {"problem": m.lazy} if name in LAZY else {"rho": m.cloud, "other": m.cloud}
    few |= {"theorem": "general", "gaps": [], "eta": 0.1}
    few |= {"tolerance": 0.1, "confidence": 0.9}
    few |= {"spec": wl.Spec(m.plain, m.sgd, t_end=0.1), "axes": {"seed": [0]}} if name == "sweep" else {}
    few |= {"betas": [1.0, 2.0], "sizes": [4, 8], "solution": None, "chi": None}
    few |= {"name": "mmn18-risk"}
    function = attrgetter(name)(wl)
    known = inspect.signature(function).parameters
    options = OPTIONS.get(name, ())
    for key in [key for key in (*known, *options) if key != "options"]:
        asked = {k: v for k, v in few.items() if k in known} | {key: odd}
        assert complaint(function, asked) is None
        with pytest.raises(wl.InputError):
            function(**asked)


LAZY = ("linearise", "regime", "regimes", "relative_scale")
OPTIONS = {
    "estimate": ("seed", "save", "replicas", "keep"),
    "solve": ("seed", "save", "replicas", "keep", "store"),
    "compare": ("seed", "save", "replicas", "chain", "coordinates", "points", "throw"),
    "rates": ("n", "step", "t_end", "seed", "replicas", "chain", "coordinates", "points"),
    "commute": ("seed", "save", "replicas", "coordinates"),
    "plan": ("runs", "seed", "points", "progress"),
    "linearise": ("step", "seed", "save", "replicas", "coordinates", "progress"),
    "regime": ("step", "seed", "inputs", "progress"),
    "regimes": ("step", "seed", "inputs", "progress"),
    "proof_terms": ("seed", "save", "points"),
}


GAUSSIAN = wl.data.gaussian_classes(5, 0.5)
NOISY = wl.Problem(GAUSSIAN, wl.neurons.ridge("erf"), wl.initial.gaussian(1.0), ridge=0.1, beta=10.0)
WIDE = wl.Cloud(np.ones((1, 120)), [1.0], tuple(f"w_{i}" for i in range(1, 121)))
SPEC = wl.Spec(wl.Problem(GAUSSIAN, NOISY.neuron, NOISY.initial), wl.SGD(4, 0.1), t_end=1.0).to_toml()


def custom(function, D):
    return wl.Problem(wl.data.single_index(10, "z**2"), wl.neurons.custom(function, D), wl.initial.gaussian(1.0))


SENTENCES = {
    "noise in a tangent model": (lambda: wl.solve(NOISY, wl.TangentFlow(4), 0.1), "got 10.0: use FiniteVolume"),
    "noise in a reduced comparison": (
        lambda: wl.compare(NOISY, 4, 0.1, 0.1, chain=("PD", "GD"), coordinates="reduced"),
        "GD shares the noise of flows in full coordinates only, got 'reduced': compare in full coordinates",
    ),
    "a coordinate that is not there": (
        lambda: wl.observables.moment("w_170")(WIDE), "did you mean 'w_70'? known are w_1, w_2, w_3 … w_120."
    ),
    "the risk of a problem": (lambda: wl.observables.risk(NOISY), "risk needs a wl.Landscape, got 'Problem': try"),
    "a product of other lengths": (
        lambda: wl.landscape(custom(lambda x, theta: theta[0] * (theta[1:] @ x) ** 2, 10)), "it works with D=11."
    ),
    "theta before x": (
        lambda: wl.landscape(custom(lambda theta, x: theta[0] * (theta[1:] @ x) ** 2, 11)), "x comes first, then theta."
    ),
    "an index beyond theta": (lambda: wl.landscape(custom(lambda x, theta: theta[12] * x[0], 3)), "works with D=13."),
    "a start at the top": (
        lambda: wl.Spec.from_toml(SPEC + "[initial]\nlaw = 'sphere'"), "got a table: write it as problem.initial."
    ),
    "a horizon at the top": (
        lambda: wl.Spec.from_toml("t_end = 2.0\n" + SPEC), "t_end is not a known key, got 2.0: write it as run.t_end."
    ),
    "many unknown keys": (
        lambda: wl.Spec.from_toml("\n".join(f"k{i} = 1" for i in range(5000)) + "\n" + SPEC),
        "k0 is not a known key, got 1: known keys are method, problem, run (and 4999 more).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_says_what_to_do(name):
    call, sentence = SENTENCES[name]
    with pytest.raises(wl.InputError) as caught:
        call()
    assert sentence in str(caught.value)


def test_one_reduced_coordinate_is_one_dimension():
    assert "θ = (r), 1 dimension, exact" in str(NOISY)


@pytest.mark.slow
def test_thousands_of_odd_calls_are_answered_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not abused(light(), 4400, seed=8)
    assert not abused(heavy(), 600, seed=9)

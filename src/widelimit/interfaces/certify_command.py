"""The command ``widelimit certify``: how far the networks of a spec are from the best of any width."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import InputError, require
from widelimit.interfaces.options import FileSeed, Json, show
from widelimit.interfaces.run_command import read
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.experiments.spec import Spec
    from widelimit.solving.solution import Solution
    from widelimit.theory.fixed_points.certificate import Certificate


@dataclass(frozen=True)
class CertifyCommand:
    """An upper bound of how far each network of a spec ends above the best of any width, and the neuron it lacks."""

    spec: Annotated[Path, typer.Argument(help="The spec file; its methods are run, and their last networks judged.")]
    record: Annotated[
        Path | None, typer.Option(help="A record (run.nc) to judge instead of running.", show_default=False)
    ] = None
    within: Annotated[
        str, typer.Option(help="Bounds of blocks, such as a=5,w=10: the best among those.", show_default=False)
    ] = ""
    best: Annotated[bool, typer.Option("--best", help="Also find the best network of any width.")] = False
    seed: FileSeed = None
    as_json: Json = False

    def run(self) -> int:
        """Run or load, certify, show."""
        chosen, bounds = read(self.spec, self.seed), limits(self.within)
        from widelimit.theory.fixed_points.certificate import certificate
        from widelimit.theory.fixed_points.minimise import minimise
        from widelimit.theory.fixed_points.neuron_classes import limits_of

        limits_of(chosen.problem.reduced, bounds)  # before anything runs
        solutions = ended(chosen, self.record)
        found = {name: certificate(chosen.problem, one, within=bounds) for name, one in solutions.items()}
        cold = replace(chosen.problem, beta=math.inf)
        least = minimise(cold, within=bounds) if self.best else None
        document: dict[str, object] = {"certificates": {name: one.document() for name, one in found.items()}}
        if least is not None:
            atoms = {"theta": least.rho.theta.tolist(), "weights": least.rho.weights.tolist()}
            document["best"] = {**least.certificate.document(), **atoms, "converged": least.converged}

        def tell() -> None:
            print_certificates(found)
            if least is not None:
                print(f"best of any width: {least.rho.n} neurons, {least.certificate.sentence}")

        show(document, self.as_json, tell)
        return 0


def ended(spec: Spec, record: Path | None) -> dict[str, Solution]:
    """The solutions to judge: of a record, or of every method of the spec; the first replica of several."""
    from widelimit.dynamics.solve import solve
    from widelimit.experiments.launch import record_names
    from widelimit.experiments.records import load
    from widelimit.solving.solution import Solution

    if record is not None:
        loaded = load(record)
        require(isinstance(loaded, Solution), "certify needs the record of one run", str(record), "give its own file")
        assert isinstance(loaded, Solution)
        found = {record.stem: loaded}
    else:
        settings = {**spec.settings(), "replicas": None}
        names = record_names(spec.methods)
        found = {name: solve(spec.problem, one, **settings) for name, one in zip(names, spec.methods, strict=True)}
    return {name: one if one.replicas is None else one.replica(0) for name, one in found.items()}


def limits(text: str) -> dict[str, float] | None:
    """Bounds written as a=5,w=10."""
    try:
        pairs = [part.split("=") for part in text.split(",")] if text else []
        return {name.strip(): float(bound) for name, bound in pairs} or None
    except ValueError:
        raise InputError(f"--within must be bounds of blocks, got {text!r}: try a=5,w=10.") from None


def print_certificates(found: dict[str, Certificate]) -> None:
    """A table, and how each was searched for."""
    headings, cells = ("network", "objective", "value", "gap at most", "neuron it lacks"), []
    for name, one in found.items():
        places = [] if one.neuron is None else list(zip(one.coordinates, one.neuron, strict=True))[:6]
        neuron = ", ".join(f"{c} = {value:.3g}" for c, value in places)
        cells.append((name, one.objective, f"{one.value:.6g}", f"{one.gap:.3g}", neuron))
    print_table("how far from the best of any width", headings, cells, left=headings[:2])
    for name, one in found.items():
        print(f"{name}: {one.sentence}")

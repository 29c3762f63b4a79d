"""The catalogue: published figures and claims, each an entry that can be reproduced by its name.

entries     all of them, or those of a paper
entry       one, by its name
reproduce   run it: measurements, verdicts and the figure as data
"""

from __future__ import annotations

import os
from pathlib import Path

from widelimit.arguments import require_flag
from widelimit.errors import require, require_known
from widelimit.experiments.catalogue.barron_line import BARRON_LINE
from widelimit.experiments.catalogue.catalogue_entry import CatalogueEntry
from widelimit.experiments.catalogue.convexity import CONVEXITY
from widelimit.experiments.catalogue.free_energy_decay import FREE_ENERGY_DECAY
from widelimit.experiments.catalogue.lazy.kernel_staircase import KERNEL_STAIRCASE
from widelimit.experiments.catalogue.lazy.lemmas import LEMMAS
from widelimit.experiments.catalogue.lazy.loss_by_start import LOSS_BY_START
from widelimit.experiments.catalogue.lazy.loss_by_width import LOSS_BY_WIDTH
from widelimit.experiments.catalogue.lazy.phase_diagram import PHASE_DIAGRAM
from widelimit.experiments.catalogue.lazy.scale_laws import SCALE_LAWS
from widelimit.experiments.catalogue.lazy.trajectories import TRAJECTORIES
from widelimit.experiments.catalogue.learning.batch_sgd import BATCH_SGD
from widelimit.experiments.catalogue.learning.beyond_kernels import BEYOND_KERNELS
from widelimit.experiments.catalogue.learning.filtered_components import FILTERED_COMPONENTS
from widelimit.experiments.catalogue.learning.layer_growth import LAYER_GROWTH
from widelimit.experiments.catalogue.learning.leap_times import LEAPS
from widelimit.experiments.catalogue.learning.time_scales import TIME_SCALES
from widelimit.experiments.catalogue.limit.commuting import COMMUTING
from widelimit.experiments.catalogue.limit.continuity import WEAK_FORM
from widelimit.experiments.catalogue.limit.minimising_movements import MINIMISING_MOVEMENTS
from widelimit.experiments.catalogue.limit.particle_bias import PARTICLE_BIAS
from widelimit.experiments.catalogue.limit.universal import UNIVERSAL
from widelimit.experiments.catalogue.mean_field.anisotropic_relu import ANISOTROPIC_RELU
from widelimit.experiments.catalogue.mean_field.deconvolution import DECONVOLUTION
from widelimit.experiments.catalogue.mean_field.feature_learning import FEATURE_LEARNING
from widelimit.experiments.catalogue.mean_field.gap_decomposition import GAP_DECOMPOSITION
from widelimit.experiments.catalogue.mean_field.kernel_limit import KERNEL_LIMIT
from widelimit.experiments.catalogue.mean_field.near_optimum import NEAR_OPTIMUM
from widelimit.experiments.catalogue.mean_field.noise_to_gibbs import NOISE_TO_GIBBS
from widelimit.experiments.catalogue.mean_field.noisy_gap import NOISY_GAP
from widelimit.experiments.catalogue.mean_field.radial_density import RADIAL_DENSITY
from widelimit.experiments.catalogue.mean_field.relu_teacher import RELU_TEACHER
from widelimit.experiments.catalogue.mean_field.three_atoms import THREE_ATOMS
from widelimit.experiments.catalogue.mean_field.width_and_step import WIDTH_AND_STEP
from widelimit.experiments.catalogue.predicting_failure import PREDICTING_FAILURE
from widelimit.experiments.catalogue.reproduction import Reproduction, reproduce_entry
from widelimit.experiments.catalogue.risk_at_convergence import RISK_AT_CONVERGENCE
from widelimit.experiments.catalogue.samples_by_exponent import SAMPLES_BY_EXPONENT
from widelimit.experiments.catalogue.staircase import STAIRCASE

__all__ = ["CatalogueEntry", "Reproduction", "entries", "entry", "reproduce"]

_ALL = (
    RISK_AT_CONVERGENCE, PREDICTING_FAILURE, FREE_ENERGY_DECAY, STAIRCASE, BARRON_LINE, CONVEXITY, SAMPLES_BY_EXPONENT,
    RADIAL_DENSITY, ANISOTROPIC_RELU, NOISE_TO_GIBBS, WIDTH_AND_STEP, GAP_DECOMPOSITION, NOISY_GAP, NEAR_OPTIMUM,
    KERNEL_LIMIT, THREE_ATOMS, FEATURE_LEARNING, RELU_TEACHER, DECONVOLUTION,
    LOSS_BY_START, LOSS_BY_WIDTH, TRAJECTORIES, SCALE_LAWS, LEMMAS, KERNEL_STAIRCASE, PHASE_DIAGRAM,
    BATCH_SGD, LAYER_GROWTH, TIME_SCALES, FILTERED_COMPONENTS, LEAPS, BEYOND_KERNELS,
    PARTICLE_BIAS, MINIMISING_MOVEMENTS, UNIVERSAL, COMMUTING, WEAK_FORM,
)  # fmt: skip
_ENTRIES = {one.name: one for one in _ALL}


def entries(paper: str | None = None) -> list[CatalogueEntry]:
    """Every entry, or those of one paper.

    >>> import widelimit as wl
    >>> [one.name for one in wl.catalogue.entries("mmn18")][0]
    'mmn18-risk'
    """
    if paper is not None:
        require_known("paper", paper, {one.paper for one in _ENTRIES.values()})
    return [one for one in _ENTRIES.values() if paper in (None, one.paper)]


def entry(name: str) -> CatalogueEntry:
    """An entry by its name.

    >>> import widelimit as wl
    >>> wl.catalogue.entry("mmn18-failure").claims[0].locator
    'Fig. 4'
    """
    require_known("entry", name, _ENTRIES)
    return _ENTRIES[name]


def reproduce(name: str, quick: bool = False, folder: str | os.PathLike | None = None) -> Reproduction:
    """Run an entry, or read what was found before.

    quick    the short form: under a minute, and still a check
    folder   where the record, and finished parts of a run that is interrupted, are kept; None keeps nothing

    >>> import widelimit as wl
    >>> found = wl.catalogue.reproduce("barron-line", quick=True)
    >>> found.verdicts["bound"]
    'reproduced'
    """
    found = entry(name)
    require_flag("quick", quick)
    good = folder is None or (isinstance(folder, str | os.PathLike) and str(folder) != "" and "\0" not in str(folder))
    require(good, "folder must be the path of a folder", folder, 'try folder="catalogue"')
    return reproduce_entry(found, bool(quick), None if folder is None else Path(folder))


def __dir__() -> list[str]:
    return __all__

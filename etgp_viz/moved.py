"""Names of version 0.1 that have moved, so that notebooks written for it still work.

``from etgp_viz import warping`` works as before. ``from etgp_viz.warping import Matrix`` names a
module that has moved: it works too, with a warning that says the new home, once per module.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from etgp_viz.lazy import homes

__all__ = ["MODULES", "PUBLIC_IN_0_1"]


# What ``from etgp_viz import …`` offered in version 0.1 under another name.
PUBLIC_IN_0_1 = {
    "agreement": "records.covariance_check",
    "baselines": "rivals.svgp",
    "building": "rivals.build_model",
    "doctor": "cli.doctor",
    "estimator": "classifier.estimator",
    "live_training": "records.live_training",
    "model": "core.model",
    "networks": "core.network",
    "posterior": "records.inference",
    "style": "figures.style",
    "training": "core.training",
    "warping": "records.flow",
}

# New home → the modules of version 0.1 whose contents it holds.
_MERGED = """
    checks: arguments validation
    classifier.estimator: saved
    cli.course: course_report
    cli.experiment: experiment_report
    cli.lab: lab
    cli.timing: timing_report
    core.blocks: blocks
    core.expectations: quadrature
    core.flows: elementwise flow_base flows
    core.optimiser: optimisation
    core.training: history
    course.checking: course.exercise
    course.lessons.lesson_01: course.lesson_01
    course.lessons.lesson_02: course.lesson_02 course.lesson_02_shape
    course.lessons.lesson_03: course.lesson_03
    course.lessons.lesson_04: course.lesson_04 course.lesson_04_target
    course.lessons.lesson_05: course.lesson_05 course.lesson_05_quadrature
    course.lessons.lesson_06: course.lesson_06
    course.lessons.lesson_07: course.lesson_07 course.lesson_07_scores
    course.lessons.lesson_08: course.lesson_08 course.lesson_08_flow
    course.publish.build: course.build
    course.publish.mathml: course.mathml
    course.publish.notebooks: course.run course.versions
    course.publish.pages: course.handout course.render course.slides
    course.publish.stills: course.stills
    datasets.dataset: datasets.prepare datasets.record
    datasets.tables: datasets.images datasets.sources
    experiments.comparisons: experiments.evidence
    experiments.details: experiments.detail
    experiments.presets: experiments.estimate
    experiments.results: experiments.cluster experiments.execution experiments.shipped
    experiments.run: experiments.speed experiments.trained
    experiments.scoring: experiments.selection experiments.summary
    experiments.settings: experiments.columns
    explorers.controls: explorers.latent_fields explorers.points explorers.profile
    explorers.covariance_session: explorers.covariance_stages
    explorers.fast_plotly.live_figure: explorers.live
    explorers.fields: explorers.links
    explorers.inference_session: explorers.study
    files: checkpoints
    figures.plotting: figures.frames
    figures.print.covariance: figures.print_agreement
    figures.print.flow: figures.print_warping
    figures.print.inference: figures.print_inference
    figures.print.results: figures.print_scores
    figures.print.shared_latent: figures.print_shared
    figures.print.timing: figures.timing_print
    figures.shared_latent: figures.classes
    records.close_up: experiments.close_up
    records.covariance: covariance
    records.prior: prior
    records.results: experiments.collection experiments.panels
    records.shared_latent: shared_latent
    records.timing: timing.curves
    rivals.kernels: batched kernels
    rivals.svgp: monte_carlo
    timing.analysis: timing.costs timing.words
    timing.contestant_models: timing.rivals
    timing.contestants: timing.data timing.paper
    timing.gpytorch_model: timing.peer
    timing.log: timing.records
    timing.processes: timing.machine timing.worker
"""
# New home → the pictures in it that were modules of ``figures``.
_PICTURES = """
    figures.covariance: comparison convergence equal_inputs latent_matrix spectrum variances
    figures.flow: density flow_map matrix parameters paths two_points
    figures.inference: class_regions elbo latent_posterior node_errors warped_posterior
    figures.results: class_lines confusion hardest projection reliability scores training_curve
    figures.shared_latent: dependence latents pivot probabilities processes
"""

# Module of version 0.1 → the module, or the object in a module, that now holds its contents.
MODULES = PUBLIC_IN_0_1 | {name: home.partition(":")[0] for name, home in homes(_MERGED).items()}
MODULES |= {f"figures.{name}": home for name, home in homes(_PICTURES).items()}
MODULES["figures.orders"] = "figures.covariance:series_terms"
MODULES["figures.together"] = "figures.covariance:two_classes"


class _MovedModules(MetaPathFinder, Loader):
    """Imports a module by its old name as the module that took its place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == __package__ and name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        home = f"{__package__}.{MODULES[spec.name.partition('.')[2]]}"
        home, _, attribute = home.partition(":")
        new = f"{home}.{attribute}".removesuffix(".")
        warnings.warn(f"{spec.name} has moved: import {new} instead", FutureWarning, stacklevel=2)
        module = import_module(home)
        if attribute:  # a module that has become an object: its names in a module as before
            names = getattr(module, attribute)
            module = ModuleType(spec.name, f"The names of {new}.")
            vars(module).update({n: getattr(names, n) for n in dir(names) if n[0] != "_"})
        self._own_spec = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec


sys.meta_path.append(_MovedModules())

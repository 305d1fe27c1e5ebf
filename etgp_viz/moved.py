"""Names of version 0.1 that have moved, so that notebooks written for it go on working.

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

# Module of version 0.1 → the module that now holds its contents.
MODULES = PUBLIC_IN_0_1 | {
    "arguments": "checks",
    "batched": "rivals.batched",
    "blocks": "core.expectations",
    "checkpoints": "core.checkpoints",
    "course.build": "course.publish.build",
    "course.handout": "course.publish.handout",
    "course.lesson_01": "course.lessons.lesson_01",
    "course.lesson_02": "course.lessons.lesson_02",
    "course.lesson_02_shape": "course.lessons.lesson_02_shape",
    "course.lesson_03": "course.lessons.lesson_03",
    "course.lesson_04": "course.lessons.lesson_04",
    "course.lesson_04_target": "course.lessons.lesson_04_target",
    "course.lesson_05": "course.lessons.lesson_05",
    "course.lesson_05_quadrature": "course.lessons.lesson_05_quadrature",
    "course.lesson_06": "course.lessons.lesson_06",
    "course.lesson_07": "course.lessons.lesson_07",
    "course.lesson_07_scores": "course.lessons.lesson_07_scores",
    "course.lesson_08": "course.lessons.lesson_08",
    "course.lesson_08_flow": "course.lessons.lesson_08_flow",
    "course.mathml": "course.publish.mathml",
    "course.render": "course.publish.render",
    "course.run": "course.publish.run",
    "course.slides": "course.publish.slides",
    "course.stills": "course.publish.stills",
    "course.versions": "course.publish.versions",
    "course_report": "cli.course",
    "covariance": "records.covariance",
    "elementwise": "core.stable_math",
    "experiment_report": "cli.experiment",
    "experiments.close_up": "records.close_up",
    "experiments.panels": "records.results",
    "explorers.live": "explorers.fast_plotly.live_figure",
    "explorers.study": "explorers.inference_session",
    "figures.frames": "figures.plotting",
    "figures.print_agreement": "figures.print.covariance",
    "figures.print_inference": "figures.print.inference",
    "figures.print_scores": "figures.print.results",
    "figures.print_shared": "figures.print.shared_latent",
    "figures.print_warping": "figures.print.flow",
    "figures.timing_print": "figures.print.timing",
    "flow_base": "core.flows",
    "flows": "core.flows",
    "history": "core.training",
    "kernels": "rivals.kernels",
    "lab": "cli.lab",
    "monte_carlo": "rivals.svgp",
    "optimisation": "core.optimiser",
    "prior": "records.prior",
    "quadrature": "core.expectations",
    "saved": "classifier.classifier_file",
    "shared_latent": "records.shared_latent",
    "timing.curves": "records.timing",
    "timing.paper": "timing.contestants",
    "timing.peer": "timing.gpytorch_model",
    "timing.records": "timing.log",
    "timing.rivals": "timing.contestant_models",
    "timing.words": "timing.sentences",
    "timing_report": "cli.timing",
    "validation": "checks",
}


class _MovedModules(MetaPathFinder, Loader):
    """Imports a module by its old name as the module that took its place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == __package__ and name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        home = f"{__package__}.{MODULES[spec.name.partition('.')[2]]}"
        warnings.warn(f"{spec.name} has moved: import {home} instead", FutureWarning, stacklevel=2)
        module = import_module(home)
        self._own_spec = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec


sys.meta_path.append(_MovedModules())

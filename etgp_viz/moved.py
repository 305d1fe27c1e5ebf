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

# Module of version 0.1 → the module, or the object in a module, that now holds its contents.
MODULES = PUBLIC_IN_0_1 | {
    "arguments": "checks",
    "batched": "rivals.batched",
    "blocks": "core.blocks",
    "checkpoints": "core.checkpoints",
    "course.build": "course.publish.build",
    "course.handout": "course.publish.handouts",
    "course.lesson_01": "course.lessons.lesson_01",
    "course.lesson_02": "course.lessons.lesson_02",
    "course.lesson_02_shape": "course.lessons.lesson_02",
    "course.lesson_03": "course.lessons.lesson_03",
    "course.lesson_04": "course.lessons.lesson_04",
    "course.lesson_04_target": "course.lessons.lesson_04",
    "course.lesson_05": "course.lessons.lesson_05",
    "course.lesson_05_quadrature": "course.lessons.lesson_05",
    "course.lesson_06": "course.lessons.lesson_06",
    "course.lesson_07": "course.lessons.lesson_07",
    "course.lesson_07_scores": "course.lessons.lesson_07",
    "course.lesson_08": "course.lessons.lesson_08",
    "course.lesson_08_flow": "course.lessons.lesson_08",
    "course.mathml": "course.publish.mathml",
    "course.render": "course.publish.handouts",
    "course.run": "course.publish.notebooks",
    "course.slides": "course.publish.slides",
    "course.stills": "course.publish.stills",
    "course.versions": "course.publish.notebooks",
    "course_report": "cli.course",
    "covariance": "records.covariance",
    "datasets.prepare": "datasets.dataset",
    "datasets.record": "datasets.dataset",
    "datasets.sources": "datasets.tables",
    "elementwise": "core.stable_math",
    "experiment_report": "cli.experiment",
    "experiments.close_up": "records.close_up",
    "experiments.cluster": "experiments.execution",
    "experiments.collection": "records.results",
    "experiments.columns": "experiments.settings",
    "experiments.estimate": "experiments.presets",
    "experiments.evidence": "experiments.comparisons",
    "experiments.panels": "records.results",
    "experiments.selection": "experiments.summary",
    "experiments.shipped": "experiments.results",
    "experiments.speed": "experiments.run",
    "experiments.trained": "experiments.run",
    "explorers.covariance_stages": "explorers.covariance_session",
    "explorers.latent_fields": "explorers.controls",
    "explorers.links": "explorers.fields",
    "explorers.live": "explorers.fast_plotly.live_figure",
    "explorers.points": "explorers.controls",
    "explorers.profile": "explorers.controls",
    "explorers.study": "explorers.inference_session",
    "figures.classes": "figures.shared_latent",
    "figures.frames": "figures.plotting",
    "figures.orders": "figures.covariance:series_terms",
    "figures.print_agreement": "figures.print.covariance",
    "figures.print_inference": "figures.print.inference",
    "figures.print_scores": "figures.print.results",
    "figures.print_shared": "figures.print.shared_latent",
    "figures.print_warping": "figures.print.flow",
    "figures.timing_print": "figures.print.timing",
    "figures.together": "figures.covariance:two_classes",
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
    "timing.costs": "timing.analysis",
    "timing.curves": "records.timing",
    "timing.data": "timing.contestants",
    "timing.paper": "timing.contestants",
    "timing.peer": "timing.gpytorch_model",
    "timing.records": "timing.log",
    "timing.rivals": "timing.contestant_models",
    "timing.words": "timing.sentences",
    "timing.worker": "timing.processes",
    "timing_report": "cli.timing",
    "validation": "checks",
}

# Pictures that were separate modules, by the module that now holds them.
_PICTURES = {
    "covariance": "comparison convergence equal_inputs latent_matrix spectrum variances",
    "flow": "density flow_map matrix parameters paths two_points",
    "inference": "class_regions elbo latent_posterior node_errors warped_posterior",
    "results": "class_lines confusion hardest projection reliability scores training_curve",
    "shared_latent": "dependence latents pivot probabilities processes",
}
MODULES |= {
    f"figures.{name}": f"figures.{story}:{name}"
    for story, names in _PICTURES.items()
    for name in names.split()
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

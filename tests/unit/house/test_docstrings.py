"""What users call says what it takes, what comes back, and shows an example that runs."""

import dataclasses
import importlib
import inspect
import re

import pytest

from tools.site import reference

# Modules that users and notebooks import from, and whose ``__all__`` they therefore read; those of
# the reference are added.
USER_FACING = (
    "etgp_viz.core.flows",
    "etgp_viz.core.model",
    "etgp_viz.core.network",
    "etgp_viz.core.training",
    "etgp_viz.classifier.estimator",
    "etgp_viz.classifier.regressor",
    "etgp_viz.course",
    "etgp_viz.datasets",
    "etgp_viz.experiments",
    "etgp_viz.explorers",
    "etgp_viz.extensions.concrete_dropout",
    "etgp_viz.extensions.deep_kernel",
    "etgp_viz.extensions.flow_zoo",
    "etgp_viz.extensions.gp_parameters",
    "etgp_viz.extensions.latent_grid",
    "etgp_viz.extensions.mean_field",
    "etgp_viz.extensions.mixed_covariance",
    "etgp_viz.extensions.mixed_flow",
    "etgp_viz.extensions.several_latents",
    "etgp_viz.files",
    "etgp_viz.records.covariance",
    "etgp_viz.records.covariance_check",
    "etgp_viz.records.far_away",
    "etgp_viz.records.flow",
    "etgp_viz.records.inference",
    "etgp_viz.records.live_training",
    "etgp_viz.records.posterior",
    "etgp_viz.records.prior",
    "etgp_viz.records.results",
    "etgp_viz.records.several_latents",
    "etgp_viz.records.shared_latent",
    "etgp_viz.records.timing",
    "etgp_viz.rivals.build_model",
    "etgp_viz.rivals.kernels",
    "etgp_viz.timing",
)
# What the README and the lessons tell people to call: each shows an example.
WITH_EXAMPLE = (
    "etgp_viz:ETGP",
    "etgp_viz:ETGPClassifier",
    "etgp_viz:ETGPRegressor",
    "etgp_viz:FlowNetwork",
    "etgp_viz:build",
    "etgp_viz:fit",
    "etgp_viz.core.expectations:gauss_hermite",
    "etgp_viz.course:check",
    "etgp_viz.course:hint",
    "etgp_viz.course:progress",
    "etgp_viz.datasets:from_arrays",
    "etgp_viz.datasets:from_csv",
    "etgp_viz.datasets:from_dataframe",
    "etgp_viz.datasets:load",
    "etgp_viz.datasets:names",
    "etgp_viz.experiments:reference",
    "etgp_viz.experiments:select",
    "etgp_viz.experiments:summarise",
    "etgp_viz.explorers:CovarianceExplorer",
    "etgp_viz.explorers:FlowExplorer",
    "etgp_viz.explorers:InferenceExplorer",
    "etgp_viz.explorers:PosteriorExplorer",
    "etgp_viz.explorers:ResultsExplorer",
    "etgp_viz.explorers:SharedLatentExplorer",
    "etgp_viz.explorers:TimingExplorer",
    "etgp_viz.extensions.flow_zoo:Arcsinh",
    "etgp_viz.extensions.flow_zoo:BoxCox",
    "etgp_viz.extensions.flow_zoo:FromBijector",
    "etgp_viz.extensions.flow_zoo:InverseBoxCox",
    "etgp_viz.extensions.flow_zoo:RationalQuadraticSpline",
    "etgp_viz.extensions.flow_zoo:StepSum",
    "etgp_viz.records.covariance:empirical",
    "etgp_viz.records.covariance:joint",
    "etgp_viz.records.covariance:joint_linear",
    "etgp_viz.records.covariance:pair",
    "etgp_viz.records.covariance:pair_linear",
    "etgp_viz.records.live_training:LiveTraining",
    "etgp_viz.timing:crossover",
    "etgp_viz.timing:describe",
    "etgp_viz.timing:reference",
    "etgp_viz.timing:slopes",
)


def _public():
    """Every name in the ``__all__`` of a user-facing module, as (module, name)."""
    shown = [module.__name__ for module, _ in reference.modules().values()]
    for module_name in dict.fromkeys([*USER_FACING, *shown]):
        module = importlib.import_module(module_name)
        for name in module.__all__:
            yield module_name, name


@pytest.mark.parametrize(("module", "name"), list(_public()))
def test_every_argument_of_what_users_call_is_explained(module, name):
    thing = getattr(importlib.import_module(module), name)
    if not inspect.isfunction(thing):
        assert not callable(thing) or inspect.getdoc(thing)
        return
    doc = inspect.getdoc(thing) or ""
    signature = inspect.signature(thing)
    if signature.parameters:
        section = re.search(r"Parameters\n-+\n(.*?)(\n\n[A-Z]\w+\n-+\n|\Z)", doc, re.S)
        assert section, f"{module}.{name} has no section on its parameters"
        named = {
            word.strip().lstrip("*")
            for line in section.group(1).splitlines()
            if " :" in line and not line.startswith(" ")
            for word in line.partition(" :")[0].split(",")
        }
        missing = {parameter.lstrip("*") for parameter in signature.parameters} - named
        assert not missing, f"{module}.{name} does not explain {', '.join(sorted(missing))}"
    if signature.return_annotation not in (None, "None", inspect.Signature.empty):
        assert re.search(r"(Returns|Yields)\n-+\n", doc), f"{module}.{name}: what comes back?"


CLASSES = {
    f"{known_as}.{thing.__name__}": thing
    for known_as in reference.modules()
    for thing in reference._classes_of(known_as)
}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_argument_of_a_method_is_explained(name):
    """Its text names it, or refers to another method with the same arguments."""
    for method, member in reference._members(CLASSES[name]):
        if reference._getter(member):
            continue
        inner = getattr(member, "__func__", member)
        text = inspect.getdoc(inner).partition(">>> ")[0]
        arguments = set(inspect.signature(inner).parameters) - {"self", "cls"}
        missing = {word for word in arguments if not re.search(rf"(?<!\w){word}(?!\w)", text)}
        refers = re.search(r"arguments are as in `|; see `", text, re.IGNORECASE)
        assert not missing or refers, f"{name}.{method} does not explain {missing}"


@pytest.mark.parametrize(
    "name", sorted(name for name, thing in CLASSES.items() if dataclasses.is_dataclass(thing))
)
def test_every_field_of_a_record_is_explained(name):
    """In the docstring, or in a comment beside the field, which the reference shows."""
    text = CLASSES[name].__doc__
    if "`etgp_viz.timing.sweep`" in text:  # which explains the same names
        return
    fields = [field.name for field in dataclasses.fields(CLASSES[name])]
    shown = text + reference._fields(CLASSES[name])
    explained = re.findall(r"^[ \-]*([\w`, ]+?) ?: ", shown, re.MULTILINE)
    assert {f for f in fields if f[0] != "_"} <= set(re.findall(r"\w+", " ".join(explained)))


@pytest.mark.parametrize("path", WITH_EXAMPLE)
def test_what_people_are_told_to_call_shows_an_example(path):
    module, _, name = path.partition(":")
    thing = getattr(importlib.import_module(module), name)
    assert ">>> " in (inspect.getdoc(thing) or "")

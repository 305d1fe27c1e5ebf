"""Explorers: figures with controls. Each shows itself as the last line of a notebook cell.

| explorer | what it shows |
|---|---|
| `PosteriorExplorer` | GP regression: click to add observations, and the band pinches |
| `FlowExplorer` | one Gaussian process through one flow |
| `SharedLatentExplorer` | one latent process, C classes |
| `CovarianceExplorer` | covariances of the classes, by formula and by Monte Carlo |
| `InferenceExplorer` | an ETGP while it learns |
| `TimingExplorer` | the race against SVGPs over the number of classes |
| `ResultsExplorer` | scores on real data |

`Preset` and `Step` describe presets and guided tours of your own: see `Explorer.add_preset`.

Importing this package loads no TensorFlow; looking up an explorer does, if it needs a model.
Nothing is sent to the page before an explorer is made.
"""

from etgp_viz.lazy import homes, lazy_names

# Module → the public names in it, which are imported when they are first used.
_HOMES = homes("""
    explorers.covariance: CovarianceExplorer
    explorers.flow: FlowExplorer
    explorers.inference: InferenceExplorer
    explorers.posterior: PosteriorExplorer
    explorers.presets: Preset Step
    explorers.results: ResultsExplorer
    explorers.shared_latent: SharedLatentExplorer
    explorers.timing: TimingExplorer
""")

__all__ = [name for name in _HOMES if name.endswith("Explorer")]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

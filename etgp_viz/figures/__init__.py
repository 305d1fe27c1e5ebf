"""Index of the pictures.

A picture draws a record, which holds the numbers computed by `etgp_viz.records`::

    from etgp_viz.figures import paths

    fig = paths.make(record)      # a plotly figure
    paths.update(fig, record)     # the same figure, changed in place to show another record

A picture lives in the module of its story: ``paths`` in ``etgp_viz.figures.flow``. The same stories
are drawn for slides and papers by ``etgp_viz.figures.print``. Nothing here loads TensorFlow, and a
module is imported when one of its pictures is first used.

>>> from etgp_viz import figures
>>> figures.PICTURES["paths"]
('flow', 'draws of f₀ and of the warped process over x')
"""

from etgp_viz.lazy import lazy_names

__all__ = ["PICTURES", "STORIES"]

#: module → its story
STORIES = {
    "posterior": "GP regression: a function before and after observations",
    "flow": "one Gaussian process under one flow",
    "shared_latent": "C classes that share one latent, or have one each",
    "covariance": "covariances between classes, by formula and by Monte Carlo",
    "inference": "what an ETGP has learnt from data",
    "timing": "a race between models",
    "results": "experiments on real data",
}

#: picture → its story, and what it shows
PICTURES = {
    "functions": ("posterior", "prior and posterior of f₀ over x, with bands and draws"),
    "evidence": ("posterior", "the log marginal likelihood over one parameter of the kernel"),
    "kernel_slice": ("posterior", "the kernel as a function of x for one x′"),
    "paths": ("flow", "draws of f₀ and of the warped process over x"),
    "parameters": ("flow", "the parameters of a flow as functions of x"),
    "flow_map": ("flow", "a flow at one input: the map, its slope and its inverse"),
    "density": ("flow", "the density of the process at one input, before and after the flow"),
    "matrix": ("flow", "a matrix over x and x′, such as a covariance"),
    "two_points": ("flow", "joint draws of one process at two inputs"),
    "latents": ("shared_latent", "the latent that all classes share, or one for each class"),
    "processes": ("shared_latent", "the processes of all classes over x"),
    "probabilities": ("shared_latent", "class probabilities over x, stacked to one"),
    "pivot": ("shared_latent", "how one process at one input determines the others"),
    "dependence": ("shared_latent", "rank correlations between classes at one input"),
    "latent_matrix": ("covariance", "the covariance of f₀"),
    "analytic": ("covariance", "covariances between classes by formula"),
    "estimate": ("covariance", "the same covariances by Monte Carlo"),
    "difference": ("covariance", "their difference in standard errors"),
    "variances": ("covariance", "the variance of each class over x, by formula and Monte Carlo"),
    "equal_inputs": ("covariance", "correlations of pairs of classes at equal inputs over x"),
    "two_classes": ("covariance", "joint draws of two classes at one input"),
    "latent_ties": ("covariance", "joint draws of two classes for one latent and for more"),
    "convergence": ("covariance", "the Monte Carlo error against the number of draws"),
    "spectrum": ("covariance", "eigenvalues of the joint covariance of all classes"),
    "series_terms": ("covariance", "the share of variance that each Hermite term explains"),
    "class_regions": ("inference", "class probabilities over one input, or a map over two"),
    "latent_posterior": ("inference", "q(f₀) and the inducing points"),
    "warped_posterior": ("inference", "the posterior of the warped processes along a line"),
    "contribution": ("inference", "log-likelihood that is lost without f₀"),
    "elbo": ("inference", "the ELBO and its parts over training steps"),
    "optimisers": ("inference", "the ELBO of several trainings over steps and over seconds"),
    "return_to_prior": ("inference", "how sure models are far from the data, and their parameters"),
    "concentration": ("inference", "whether more data make flow parameters surer"),
    "node_errors": ("inference", "errors of quadrature and of Monte Carlo against their cost"),
    "race": ("timing", "seconds, memory or operations of each contestant over C, M or N"),
    "scores": ("results", "scores of all models on one data set"),
    "confusion": ("results", "which classes one run confuses"),
    "reliability": ("results", "how often predictions are right against their confidence"),
    "hardest": ("results", "the test rows whose labels the model expected least"),
    "training_curve": ("results", "the ELBO of one run over its epochs"),
    "class_lines": ("results", "scales or offsets of a few classes along a line through the data"),
    "projection": ("results", "training rows and inducing points in two dimensions"),
}

# Names of version 0.1 → the picture or module that has taken their place.
_NAMES_IN_0_1 = {
    "classes": "figures.shared_latent",
    "comparison": "figures.covariance:comparison",
    "frames": "figures.plotting",
    "orders": "figures.covariance:series_terms",
    "print_agreement": "figures.print.covariance",
    "print_inference": "figures.print.inference",
    "print_scores": "figures.print.results",
    "print_shared": "figures.print.shared_latent",
    "print_warping": "figures.print.flow",
    "timing_print": "figures.print.timing",
    "together": "figures.covariance:two_classes",
}

__getattr__, __dir__ = lazy_names(
    __name__,
    {name: f"figures.{story}:{name}" for name, (story, _) in PICTURES.items()}
    | {story: f"figures.{story}" for story in STORIES}
    | _NAMES_IN_0_1,
)

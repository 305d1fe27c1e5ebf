"""The flows of the zoo that every property test of flows runs over."""

from etgp_viz.backend import tfp
from etgp_viz.core.flows import RAW_ONE, Compose, Linear, Param
from etgp_viz.extensions import flow_zoo


def tails(skew, weight):
    """TensorFlow Probability's sinh-arcsinh map."""
    return tfp.bijectors.SinhArcsinh(skewness=skew, tailweight=weight)


TAILS = flow_zoo.FromBijector(
    tails,
    [
        Param("skew", -2.0, 2.0, False, 0.0, "skews to the right"),
        Param("weight", 0.2, 2.5, True, RAW_ONE, "makes the tails heavier"),
    ],
    has_identity=True,
)
ZOO = [
    flow_zoo.Arcsinh(),
    flow_zoo.BoxCox(),
    flow_zoo.InverseBoxCox(),
    flow_zoo.StepSum(),
    flow_zoo.StepSum(tanh=0, sal=2, arcsinh=0),
    flow_zoo.StepSum(tanh=0, sal=0, arcsinh=3),
    flow_zoo.RationalQuadraticSpline(),
    flow_zoo.RationalQuadraticSpline(bins=2, bound=1.5),
    TAILS,
    Compose([flow_zoo.Arcsinh(), Linear(positive=True)]),
    Compose([flow_zoo.FromBijector(tfp.bijectors.Softsign()), Linear(positive=True)]),
]

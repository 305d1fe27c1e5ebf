"""Pictures of one GP under one flow: they show their records, and move."""

import numpy as np

from etgp_viz.core.flows import SAL
from etgp_viz.figures import two_points
from etgp_viz.records import flow as flow_records
from etgp_viz.records import prior

X = np.array([0.2, 1.0])
K = np.array([[2.0, 0.9], [0.9, 1.0]])
FLOW, VALUES = SAL(1), np.array([[0.4, 1.3, 1.1, -0.5], [-0.8, 0.9, 0.7, 1.0]])
PARAMS = FLOW.unconstrain(VALUES).numpy()


def test_the_picture_shows_the_record_and_moves():
    first = flow_records.two_points(X, K, prior.noise(0, 50, 2))
    other = flow_records.two_points(X + 1.0, K, prior.noise(0, 50, 2), FLOW, PARAMS)
    fig = two_points.make(first)
    for record, name in ((first, "f₀(0.20)"), (other, "f(1.20)")):
        two_points.update(fig, record)
        for trace, values in zip(fig.data, (record.draws, record.contour), strict=True):
            np.testing.assert_array_equal([trace.x, trace.y], values)
        assert name in fig.layout.xaxis.title.text
        assert f"{record.correlation:.2f}" in fig.layout.annotations[0].text.replace("−", "-")
        for axis, values in (("xaxis", record.contour[0]), ("yaxis", record.contour[1])):
            low, high = fig.layout[axis].range
            assert low < values.min() < values.max() < high

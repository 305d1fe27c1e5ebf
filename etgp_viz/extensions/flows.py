"""All flows in one place, ``from etgp_viz import flows``: those of the core, and the flow zoo."""

from etgp_viz.core import flows as core_flows
from etgp_viz.core.flows import *  # noqa: F403
from etgp_viz.extensions import flow_zoo
from etgp_viz.extensions.flow_zoo import *  # noqa: F403

__all__ = [*core_flows.__all__, *flow_zoo.__all__]

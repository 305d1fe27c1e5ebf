"""One look for every picture: colours, fonts and the plotly template."""

import plotly.graph_objects as go

# Okabe and Ito's colours, told apart by people with any kind of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
# The shared latent f₀ is always this colour. It stands out on a white page and on a black one.
NEUTRAL = "#7A7A7A"
HERO_WIDTH = 5
LINE_WIDTH = 2.5

_GRID = "rgba(128, 128, 128, 0.25)"
_AXIS = {
    "gridcolor": _GRID,
    "zerolinecolor": "rgba(128, 128, 128, 0.6)",
    "ticks": "outside",
    "tickcolor": _GRID,
    "title": {"standoff": 12},
    "fixedrange": True,
}

# Transparent, so that the page's own background shows through in every theme.
TEMPLATE = go.layout.Template(
    layout={
        "autosize": True,
        "colorway": PALETTE,
        "font": {"family": "system-ui, sans-serif", "size": 14, "color": NEUTRAL},
        "hoverlabel": {"font": {"size": 13}},
        "margin": {"l": 70, "r": 130, "t": 20, "b": 60},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "showlegend": False,
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)

# JupyterLab's variables follow its theme at once; plotly's own colours cannot.
CSS = """
.etgp-viz h3 { margin: 0; }
.etgp-viz [role="status"] { margin: 0 0 0.5em; font-size: 15px; }
.etgp-viz .xtick text, .etgp-viz .ytick text, .etgp-viz .xtitle, .etgp-viz .ytitle {
  fill: var(--jp-ui-font-color1) !important;
}
"""

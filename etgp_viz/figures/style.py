"""One look for every picture: colours, dashes, names of classes, fonts and the plotly template."""

import plotly.graph_objects as go
from plotly.colors import cyclical, sample_colorscale

# Okabe and Ito's colours, distinguishable with any kind of colour vision. The eighth is black on a
# white page and white on a black one: the style sheet looks for this very colour.
PALETTE = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
    *("#CC79A7", "#56B4E9", "#F0E442", "#010101"),
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# The shared latent f₀ is always this colour. It stands out on a white page and on a black one.
NEUTRAL = "#7A7A7A"
HERO_WIDTH = 5
LINE_WIDTH = 2.5
TEXT_SIZE = 13
# Covariances and correlations, centred on zero; variances and probabilities.
DIVERGING = "RdBu_r"
SEQUENTIAL = "Cividis"
COLOUR_BAR = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4}

_GRID = "rgba(128, 128, 128, 0.25)"
_AXIS = {
    "gridcolor": _GRID,
    "zerolinecolor": "rgba(128, 128, 128, 0.6)",
    "ticks": "outside",
    "tickcolor": _GRID,
    "title": {"standoff": 8, "font": {"size": TEXT_SIZE}},
    "fixedrange": True,
}

# Transparent, so that the page's own background shows through in every theme.
TEMPLATE = go.layout.Template(
    layout={
        "autosize": True,
        "colorway": PALETTE,
        "font": {"family": "system-ui, sans-serif", "size": TEXT_SIZE, "color": NEUTRAL},
        "hoverlabel": {"font": {"size": TEXT_SIZE}},
        "margin": {"l": 70, "r": 130, "t": 30, "b": 50},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "showlegend": False,
        "dragmode": False,
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


def colour(c: int, num_classes: int) -> str:
    """The colour of class c = 0, 1, …: Okabe and Ito's up to 8 classes, ordered hues beyond."""
    if num_classes <= len(PALETTE):
        return PALETTE[c]
    return sample_colorscale(cyclical.Phase, [c / num_classes])[0]


def dash(c: int) -> str:
    """The dash pattern of class c, so that colour alone never identifies it."""
    return DASHES[c % len(DASHES)]


def superscript(number: int) -> str:
    """A whole number in superscript digits, as in f¹²."""
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))


def process(c: int) -> str:
    """The name of the process of class c = 0, 1, …, counted from one as in f¹."""
    return f"f{superscript(c + 1)}"

"""Decision regions as a small image: the likeliest class, in stronger colour where surer."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import image as matplotlib_image
from matplotlib.colors import to_rgba_array
from scipy.ndimage import zoom

from etgp_viz.figures import style

if TYPE_CHECKING:
    from etgp_viz.records.inference import Classes, Window

__all__ = ["FAINT", "FULL", "crosses", "paint", "place", "png_address", "trails"]

# Opacity where all classes are equally likely, and where one is certain.
FAINT, FULL = 0.04, 0.8
# Pixels along the side of a cell of the window: between its points, probabilities are linear.
PIXELS = 3
# Half the length of a cross, as a share of the window's width.
ARM = 0.011


def paint(record: Classes) -> np.ndarray:
    """Red, green, blue and opacity in [0, 1] ``[rows, columns, 4]``, the highest x₂ first.

    A grey line runs where the entropy is half its maximum.
    """
    p = zoom(record.probabilities, (1, PIXELS, PIXELS), order=1)[:, ::-1]
    C, top = len(p), np.max(p, axis=0)
    colours = to_rgba_array([style.colour(c, C) for c in range(C)])[np.argmax(p, axis=0)]
    strength = np.clip((top * C - 1.0) / (C - 1.0), 0.0, 1.0)
    colours[..., 3] = FAINT + (FULL - FAINT) * strength
    p = np.clip(p, 1e-300, 1.0)
    entropy = -np.sum(p * np.log(p), axis=0) / np.log(C)
    # Distance from the line in pixels, to first order; the line fades out within a pixel.
    distance = np.abs(entropy - 0.5) / np.maximum(np.hypot(*np.gradient(entropy)), 1e-9)
    share = np.clip(1.2 - distance, 0.0, 1.0)[..., None]
    return (1.0 - share) * colours + share * to_rgba_array(style.NEUTRAL)


def png_address(pixels: np.ndarray, **options: Any) -> str:
    """Pixels in [0, 1] as a PNG in a data URL; `options` are those of matplotlib's ``imsave``."""
    file = io.BytesIO()
    fast: dict[str, Any] = {"format": "png", "pil_kwargs": {"compress_level": 1}}
    matplotlib_image.imsave(file, pixels, **fast, **options)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def place(window: Window) -> dict[str, Any]:
    """Where the image lies: the centres of its outer pixels are on the edge of the window."""
    assert window.y is not None
    sizes = []
    for values in (window.x, window.y):
        pixel = np.ptp(values) / (PIXELS * len(values) - 1)
        sizes.append((float(np.ptp(values) + pixel), float(pixel) / 2.0))
    (width, left), (height, top) = sizes
    corner = {"x": float(window.x[0]) - left, "y": float(window.y[-1]) + top}
    return {**corner, "sizex": width, "sizey": height}


def crosses(Z: np.ndarray, window: Window) -> str:
    """A cross at each point, as one path in the units of the axes."""
    arm = ARM * float(np.ptp(window.x))
    parts = []
    for x, y in Z:
        parts.append(f"M{x - arm:.3f},{y:.3f}L{x + arm:.3f},{y:.3f}")
        parts.append(f"M{x:.3f},{y - arm:.3f}L{x:.3f},{y + arm:.3f}")
    return "".join(parts) or "M0,0"


def trails(trail: np.ndarray, Z: np.ndarray) -> str:
    """A line from where each point was to where it is, as one path in the units of the axes."""
    lines = np.moveaxis(np.concatenate([trail, Z[None]]), 0, 1) if len(trail) else ()
    return "".join("M" + "L".join(f"{x:.3f},{y:.3f}" for x, y in line) for line in lines) or "M0,0"

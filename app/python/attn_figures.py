"""Draws tensors of a walk with matplotlib, and makes pandas tables (Walk.plot, Walk.frame)."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any, Mapping

import attn_explain as ae

_MOST_PANELS = 64
_MOST_DIGITS = 12  # keys in a panel whose cells have their number


def _module(name: str, use: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        package = name.split(".")[0]
        raise ae.AttnError(f"{use} needs {package}, which is not installed") from missing


def _part(walk: Any, name: str, at: Mapping[str, int]) -> tuple[Any, list[str], list[list[str]]]:
    """Returns a part of a tensor: its numbers, and the names and labels of its axes."""
    labels, axes = walk.labels(name, at.get("batch", 0)), list(walk.axes[name])
    unknown = [axis for axis in at if axis not in axes]
    if unknown:
        known = ", ".join(axes) or "no axes"
        raise ae.AttnError(f"{name} has no axis {unknown[0]}: it has {known}")
    for axis, place in at.items():
        length = len(labels[axes.index(axis)])
        if not hasattr(place, "__index__") or not -length <= place < length:
            raise ae.AttnError(f"{name} has {length} places along {axis}: there is no {place}")
    kept = [i for i, axis in enumerate(axes) if axis not in at]
    numbers = walk[name][tuple(at.get(axis, slice(None)) for axis in axes)]
    return numbers, [axes[i] for i in kept], [labels[i] for i in kept]


def frame(walk: Any, name: str, at: Mapping[str, int]) -> Any:
    """Returns a DataFrame: the last axis gives the columns, the others the rows."""
    pandas = _module("pandas", "frame()")
    numbers, axes, labels = _part(walk, name, at)
    if not axes:
        return pandas.DataFrame([[numbers]], columns=[name])
    if len(axes) == 1:
        return pandas.DataFrame({name: numbers}, index=pandas.Index(labels[0], name=axes[0]))
    # Heads and sequences are labelled by number.
    rows = [
        range(len(each)) if axis in ("batch", "head") else each for axis, each in zip(axes, labels)
    ]
    index = (
        pandas.MultiIndex.from_product(rows[:-1], names=axes[:-1])
        if len(axes) > 2
        else pandas.Index(rows[0], name=axes[0])
    )
    columns = pandas.Index(labels[-1], name=axes[-1])
    return pandas.DataFrame(numbers.reshape(-1, len(columns)), index, columns)


def _hidden(walk: Any, name: str, at: Mapping[str, int]) -> Any:
    """Returns True for cells that the mask hides; None if there is no cell per query and key."""
    axes, mask = walk.axes[name], walk.get("mask")
    if mask is None or axes[-2:] != ("query", "key") or name == "mask":
        return None
    over = dict(zip(walk.axes["mask"], mask.shape))
    if (over.get("query"), over.get("key")) != walk[name].shape[-2:]:
        return None
    places = {axis: 0 if over[axis] == 1 else at[axis] for axis in over if axis in at}
    return mask[tuple(places.get(axis, slice(None)) for axis in over)]


def plot(walk: Any, name: str, ax: Any, at: Mapping[str, int]) -> Any:
    """Draws one panel for each head of each sequence; returns one Axes, or an array of them."""
    np, plt = ae._numpy(), _module("matplotlib.pyplot", "plot()")
    whole, axes, labels = _part(walk, name, at)
    outer = [range(len(each)) for each in labels[:-2]]
    places = [dict(zip(axes, each)) for each in itertools.product(*outer)]
    if len(places) > _MOST_PANELS or (ax is not None and len(places) > 1):
        first = ", ".join(f"{axis}=0" for axis in axes[:-2])
        raise ae.AttnError(f"{name} has {len(places)} panels: choose one with {first}")
    finite = whole[np.isfinite(whole)] if whole.dtype.kind == "f" else whole
    most = float(np.abs(finite).max(initial=0)) or 1.0
    is_share = bool(finite.size) and finite.min() >= 0
    hue = {
        "cmap": "Blues" if is_share else "RdBu_r",
        "vmin": 0 if is_share else -most,
        "vmax": most,
    }
    if ax is None:
        width, height = (min(max(2.5, 0.2 * n + 1), 6) for n in ((1, 1) + whole.shape)[:-3:-1])
        across = min(len(places), max(1, int(14 / width)))
        down = math.ceil(len(places) / across)
        size = (across * width + 0.8, down * height)
        figure, panels = plt.subplots(
            down, across, figsize=size, squeeze=False, layout="constrained"
        )
    else:
        figure, panels = ax.figure, np.array([[ax]])
    for place, panel in zip(places, panels.flat):
        _panel(walk, name, {**at, **place}, panel, hue)
    for panel in panels.flat[len(places) :]:
        panel.remove()
    used = list(panels.flat[: len(places)])
    figure.colorbar(used[0].images[0], ax=used, shrink=0.8, aspect=20 * len(panels))
    return used[0] if len(used) == 1 else np.array(used)


def _panel(walk: Any, name: str, at: Mapping[str, int], panel: Any, hue: Mapping[str, Any]) -> None:
    np = ae._numpy()
    numbers, axes, labels = _part(walk, name, at)
    rows, columns = ([""] if len(axes) < 2 else labels[0]), (labels[-1] if axes else [""])
    table = np.asarray(numbers, dtype=float).reshape(len(rows), len(columns))
    hidden = _hidden(walk, name, at)
    hidden = np.zeros(table.shape, bool) if hidden is None else np.broadcast_to(hidden, table.shape)
    panel.imshow(np.where(hidden | ~np.isfinite(table), np.nan, table), aspect="auto", **hue)
    if hidden.any():
        edges = (np.arange(length + 1) - 0.5 for length in table.shape[::-1])
        cells = panel.pcolor(
            *edges, np.ma.masked_where(~hidden, hidden), hatch="////", cmap="Greys"
        )
        cells.set(facecolor="none", edgecolor="0.6", linewidth=0, array=None)
    panel.set_xticks(range(len(columns)), columns, rotation=90 if max(map(len, columns)) > 2 else 0)
    panel.set_yticks(range(len(rows)), rows)
    panel.tick_params(labelsize=8)
    panel.set_xlabel(axes[-1] if axes else "")
    panel.set_ylabel(axes[0] if len(axes) > 1 else "")
    panel.set_title(", ".join([name, *(f"{axis} {place}" for axis, place in at.items())]))
    if len(columns) > _MOST_DIGITS or len(rows) > _MOST_DIGITS:
        return
    for (row, column), number in np.ndenumerate(table):
        if not hidden[row, column]:
            dark = abs(number) > 0.6 * hue["vmax"]
            ink = "white" if dark else "black"
            panel.text(column, row, f"{number:.2f}", ha="center", va="center", color=ink, size=8)

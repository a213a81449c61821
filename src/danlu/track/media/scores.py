"""Plots of classifiers: confusion matrices, precision-recall curves, ROC curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

from danlu.track.media.arrays import nested
from danlu.track.values import MAX_TEXT, brief, text_of

MAX_LABELS = 200
MAX_LINES = 20
MAX_POINTS = 200


class Matrix(NamedTuple):
    labels: list[str]
    counts: list[list[int]]
    """A row per true label, a column per predicted label."""


class Curve(NamedTuple):
    name: str
    x: list[float]
    y: list[float]
    area: Optional[float]


def confusion(truth: Any, predicted: Any, *, labels: Optional[Sequence[Any]]) -> Matrix:
    """Count pairs. `labels` are in the order of the rows; values may be labels or their indexes."""
    true, guessed = list(nested(truth)), list(nested(predicted))
    if len(true) != len(guessed):
        raise ValueError(f"expected as many predictions as true labels, got {len(guessed)} for {len(true)}")
    known = list(labels) if labels is not None else _in_order({*true, *guessed})
    if len(known) > MAX_LABELS:
        raise ValueError(f"it has {len(known)} labels; {MAX_LABELS} are the most")
    places = {label: at for at, label in enumerate(known)}
    if labels is not None and not places.keys() >= {*true, *guessed}:
        places = {at: at for at in range(len(known))}
    counts = [[0] * len(known) for _ in known]
    for one, other in zip(true, guessed):
        if one not in places or other not in places:
            wrong = one if one not in places else other
            raise ValueError(f"expected one of the {len(known)} labels, or its number, got {brief(wrong)}")
        counts[places[one]][places[other]] += 1
    return Matrix([text_of(label, MAX_TEXT) for label in known], counts)


def precision_recall(truth: Any, scores: Any, *, labels: Optional[Sequence[Any]]) -> list[Curve]:
    return [_precision_recall(*one) for one in _per_class(truth, scores, labels)]


def roc(truth: Any, scores: Any, *, labels: Optional[Sequence[Any]]) -> list[Curve]:
    return [_roc(*one) for one in _per_class(truth, scores, labels)]


def _per_class(
    truth: Any, scores: Any, labels: Optional[Sequence[Any]]
) -> Iterable[tuple[str, list[bool], list[float]]]:
    """Return name, truth and scores of each class. One-dimensional scores are of the positive class."""
    true, rows = list(nested(truth)), list(nested(scores))
    if len(true) != len(rows) or not rows:
        raise ValueError(f"expected a score for every true label, got {len(rows)} for {len(true)}")
    if not isinstance(rows[0], (list, tuple)):
        return [("", _positive(true), [float(one) for one in rows])]
    number = len(rows[0])
    if any(len(row) != number for row in rows):
        raise ValueError(f"expected {number} scores in every row")
    known: list[Any] = list(labels) if labels is not None else list(range(number))
    if len(known) != number:
        raise ValueError(f"expected {number} labels, one per column of the scores, got {len(known)}")
    if number > MAX_LINES:
        raise ValueError(f"it has {number} classes; {MAX_LINES} are the most")
    return [
        (text_of(label, MAX_TEXT), [one in (label, at) for one in true], [float(row[at]) for row in rows])
        for at, label in enumerate(known)
    ]


def _positive(truth: list[Any]) -> list[bool]:
    """Return which true labels are of the positive class, 1. The others are 0, or -1."""
    wrong = next((one for one in truth if one not in (-1, 0, 1)), None)
    if wrong is not None or {-1, 0} <= {*truth}:
        shown = "-1, 0" if wrong is None else brief(wrong)
        raise ValueError(f"expected 0 and 1, or -1 and 1, as true labels, got {shown}")
    return [one == 1 for one in truth]


def _counted(truth: list[bool], scores: list[float]) -> list[tuple[int, int]]:
    """Return true and false positives at every distinct score as threshold, in descending order."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at] if math.isfinite(scores[at]) else math.inf)
    found, true, false = [(0, 0)], 0, 0
    for place, at in enumerate(order):
        true, false = true + truth[at], false + (not truth[at])
        if place + 1 == len(order) or scores[order[place + 1]] != scores[at]:
            found.append((true, false))
    return found


def _roc(name: str, truth: list[bool], scores: list[float]) -> Curve:
    counts = _counted(truth, scores)
    positive, negative = counts[-1]
    if not positive or not negative:
        raise ValueError(f"expected both classes among the true labels{f' of {name}' if name else ''}")
    x, y = [false / negative for _, false in counts], [true / positive for true, _ in counts]
    area = sum((x[at + 1] - x[at]) * (y[at] + y[at + 1]) / 2 for at in range(len(x) - 1))
    return Curve(name, *_thinned(x, y), area)


def _precision_recall(name: str, truth: list[bool], scores: list[float]) -> Curve:
    """The area is the average precision, without interpolation."""
    counts = _counted(truth, scores)[1:]
    positive = counts[-1][0]
    if not positive:
        raise ValueError(f"expected a positive among the true labels{f' of {name}' if name else ''}")
    recall, precision = [true / positive for true, _ in counts], [true / (true + false) for true, false in counts]
    area = sum((recall[at] - (recall[at - 1] if at else 0.0)) * precision[at] for at in range(len(recall)))
    return Curve(name, *_thinned([0.0, *recall], [precision[0], *precision]), area)


def _thinned(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    if len(x) <= MAX_POINTS:
        return x, y
    kept = sorted({round(at * (len(x) - 1) / (MAX_POINTS - 1)) for at in range(MAX_POINTS)})
    return [x[at] for at in kept], [y[at] for at in kept]


def _in_order(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except Exception:  # of several types; a foreign object may raise anything
        return sorted(labels, key=lambda label: text_of(label, MAX_TEXT))

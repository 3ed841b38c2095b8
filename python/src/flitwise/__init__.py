"""Reads what Flitwise writes: results of runs, studies, time series and timelines.

    import flitwise

    study = flitwise.load("background.study")
    for pair in study.pairs("scheduler", "slowdown_ratio"):
        print(pair.labels, pair.difference)

The package needs Python alone, except that ``Table.to_pandas()`` needs pandas and Parquet files need pyarrow.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from .errors import FlitwiseError
from .result import Result
from .statistics import Mean, mean_ci95
from .study import Axis, Pair, Study
from .table import Row, Table, Value, read_table, unit

__all__ = [
    "Axis",
    "FlitwiseError",
    "Mean",
    "Pair",
    "Result",
    "Row",
    "Study",
    "Table",
    "Value",
    "load",
    "mean_ci95",
    "read_table",
    "unit",
]


def load(path: "Union[str, os.PathLike[str]]") -> Union[Result, Study]:
    """Reads the directory of a study or of a run, or a ``result.json``, and returns a ``Study`` or a ``Result``."""
    place = Path(path)
    if place.suffix == ".toml":
        raise FlitwiseError(f"{place} is an experiment or a study; run it with --out DIR, and load that directory")
    if not place.exists():
        raise FlitwiseError(f"{place} does not exist; give the directory that `flitwise run --out` or `flitwise study` wrote")
    if place.name == "study.json" or (place / "study.json").is_file():
        return Study(place)
    return Result(place)

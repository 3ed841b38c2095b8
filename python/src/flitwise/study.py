"""A study: its axes and its tables, and differences that are paired by seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

from .errors import FlitwiseError, near
from .result import read_json
from .statistics import Mean, mean_ci95
from .table import Row, Table, Value, find_table

if TYPE_CHECKING:
    import os

#: The layout that this package reads.
SCHEMA = "flitwise-study-1"


class Axis(NamedTuple):
    """An axis of a study: a key and the values that it takes."""

    #: The name in the study file.
    name: str
    #: The name of its column in the tables.
    column: str
    #: The labels of its values.
    labels: List[str]
    #: The label of the value that the others are compared with.
    reference: str


class Pair(NamedTuple):
    """Runs of a point and of its reference on one axis, with the same seeds."""

    #: The labels by column. The label on the compared axis is not the reference.
    labels: Dict[str, Value]
    #: The load, in a study without jobs.
    load: Value
    #: The label of the reference on the compared axis.
    reference: Value
    #: A tuple ``(seed, value, value of the reference)`` for each seed.
    seeds: List[Tuple[int, float, float]]

    @property
    def difference(self) -> Mean:
        """The mean of value minus reference, paired by seed."""
        return mean_ci95(value - other for _, value, other in self.seeds)

    @property
    def percent(self) -> Mean:
        """The same in per cent of the reference."""
        return mean_ci95(100 * (value - other) / other for _, value, other in self.seeds)


class Study:
    """The directory of a study."""

    def __init__(self, path: "Union[str, os.PathLike[str]]"):
        place = Path(path)
        #: The path of the directory.
        self.path = place.parent if place.name == "study.json" else place
        what = "give a directory that `flitwise study` wrote (NAME.study)"
        #: The content of ``study.json``.
        self.data: Dict[str, Any] = read_json(self.path / "study.json", SCHEMA, what)
        self._tables: Dict[str, Table] = {}

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self.data['points']} points, {self.data['runs']} runs>"

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.data["name"])

    @property
    def axes(self) -> List[Axis]:
        """The axes, in the order of the study file."""
        return [
            Axis(axis["name"], axis["column"], [setting["label"] for setting in axis["settings"]], axis["reference"])
            for axis in self.data["axes"]
        ]

    def axis(self, name: str) -> Axis:
        """The axis of this name or column."""
        for axis in self.axes:
            if name in (axis.name, axis.column):
                return axis
        raise FlitwiseError(f"{self.path} has no axis {name!r}; {near(name, (axis.name for axis in self.axes))}")

    def table(self, name: str) -> Table:
        """A table: ``runs``, ``jobs``, ``background``, ``points``, ``differences`` or ``interactions``."""
        if name not in self._tables:
            self._tables[name] = self._whole(name, find_table(self.path, name))
        return self._tables[name]

    def _whole(self, name: str, table: Table) -> Table:
        """The table, which has all runs or points that study.json counts."""
        runs, missing, points = (int(self.data[key]) for key in ("runs", "missing", "points"))
        # Without a run a point has no row.
        counts = {"runs": ("run", runs - missing), "points": ("point", 0 if missing else points)}
        column, least = counts.get(name, ("", 0))
        found = len(set(table[column])) if column else 0
        if found < least:
            raise FlitwiseError(
                f"{table.name} has {found} of the {least} {name} in study.json; it was cut or edited: "
                "the same `flitwise study` command writes it again"
            )
        return table

    @property
    def runs(self) -> Table:
        """The table with a row for each run; in a study without jobs, for each run and load."""
        return self.table("runs")

    @property
    def jobs(self) -> Table:
        """The table with a row for each run and job."""
        return self.table("jobs")

    @property
    def background(self) -> Table:
        """The table with a row for each run and background flow."""
        return self.table("background")

    @property
    def points(self) -> Table:
        """The table with a row for each point: means over the seeds, and half their 95 % intervals."""
        return self.table("points")

    @property
    def differences(self) -> Table:
        """The table with the mean paired difference of each point from its reference on each axis."""
        return self.table("differences")

    def mean(self, column: str, **labels: Value) -> Mean:
        """The mean of a column of ``runs`` over the seeds of the complete runs with these labels."""
        self.runs._known([column])
        found = [row[column] for row in self.runs.where(None, **labels) if row[column] is not None]
        if not found:
            raise FlitwiseError(f"no complete run of {self.path} has {labels} and a value of `{column}`")
        return mean_ci95(_number(value, column) for value in found)

    def pairs(self, axis: str, column: str, reference: Union[str, float, None] = None) -> List[Pair]:
        """Pairs the runs that differ in one axis only, seed by seed, to compare a column of ``runs``.

        Another label may serve as reference. Runs without a value are left out.
        """
        of = self.axis(axis)
        against = of.reference if reference is None else str(reference)
        if against not in of.labels:
            raise FlitwiseError(f"axis {of.name} has no {against!r}; {near(against, of.labels)}")
        columns = [other.column for other in self.axes]
        runs = self.runs.where(lambda row: row.get(column) is not None)
        runs._known([column])
        values = {_key(row, columns): _number(row[column], column) for row in runs}
        # Labels are texts in study.json, and may be numbers in a table.
        label = next((row[of.column] for row in self.runs if _same(row[of.column], against)), against)
        found: Dict[Tuple[Value, ...], Pair] = {}
        for row in runs:
            if _same(row[of.column], against):
                continue
            other = values.get(_key({**row, of.column: label}, columns))
            if other is None:
                continue
            labels = {name: row[name] for name in columns}
            point = (*labels.values(), row.get("load"))
            pair = found.setdefault(point, Pair(labels, row.get("load"), label, []))
            pair.seeds.append((int(_number(row["seed"], "seed")), _number(row[column], column), other))
        return list(found.values())


def _key(row: Row, columns: List[str]) -> Tuple[Value, ...]:
    return (*(row[column] for column in columns), row.get("load"), row["seed"])


def _same(cell: Value, label: str) -> bool:
    """True if a cell has this label."""
    if isinstance(cell, (int, float)):
        try:
            return float(label) == float(cell)
        except ValueError:
            return False
    return cell == label


def _number(value: Value, column: str) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    raise FlitwiseError(f"`{column}` has no numbers but {value!r}")

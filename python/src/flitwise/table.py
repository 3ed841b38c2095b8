"""Tables: CSV and Parquet files with typed columns, whose names end in their units."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from .errors import FlitwiseError, near

if TYPE_CHECKING:
    import os

    import pandas

#: A cell of a table: a number, a text, or ``None`` if it is empty.
Value = Union[int, float, str, None]
#: A row of a table: its cells by the names of their columns.
Row = Dict[str, Value]

#: Columns of words, which may look like numbers.
_TEXTS = frozenset(
    "record status reason job job_name sl axis reference run_name doing from_name to_name port_name nic_name".split()
)
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")

#: Ends of names and their units, the longest first.
_UNITS = (
    ("_gbit_per_s_per_nic", "Gb/s per NIC"),
    ("_gbyte_per_s_per_nic", "GB/s per NIC"),
    ("_flits_per_cycle_per_nic", "flits/cycle/NIC"),
    ("_percentage_points", "percentage points"),
    ("gbit_per_s", "Gb/s"),
    ("gbyte_per_s", "GB/s"),
    ("_percent", "%"),
    ("_ratio", "ratio"),
    ("_count", "number"),
    ("_bytes", "B"),
    ("_flits", "flits"),
    ("_ticks", "ticks"),
    ("_ps", "ps"),
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
)
#: Names that are a unit by themselves.
_WHOLE = {"bytes": "B", "flits": "flits", "packets": "packets", "marked": "packets", "utilisation": "fraction"}


def unit(column: str) -> Optional[str]:
    """The unit that the name of a column ends in; ``None`` if it has none.

    >>> unit("execution_time_us_mean"), unit("latency_p99_ns"), unit("scheduler")
    ('us', 'ns', None)
    """
    for end in ("_mean", "_ci95"):
        if column.endswith(end):
            column = column[: -len(end)]
    # `latency_ns_mean` is a mean over the seeds of `latency_ns`.
    if column in _WHOLE:
        return _WHOLE[column]
    for end, name in _UNITS:
        if column.endswith(end):
            return name
    return None


class Table:
    """A table with typed cells. Iterating yields its rows; ``table["column"]`` is a list of cells."""

    def __init__(self, name: str, columns: Sequence[str], rows: List[Row]):
        #: The name of the table in error messages.
        self.name = name
        #: The names of its columns, in order.
        self.columns = list(columns)
        #: The rows, as dictionaries.
        self.rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> List[Value]:
        """The cells of a column."""
        self._known([column])
        return [row[column] for row in self.rows]

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows, columns {', '.join(self.columns)}>"

    @property
    def units(self) -> Dict[str, str]:
        """The units by column, for the columns that have one."""
        found = ((column, unit(column)) for column in self.columns)
        return {column: name for column, name in found if name is not None}

    def where(self, _test: Optional[Callable[[Row], bool]] = None, **cells: Value) -> "Table":
        """A table of the rows that have these cells and pass the test.

        ``study.runs.where(scheduler="rr", status="complete")``
        """
        self._known(cells)
        for column, value in cells.items():
            self._comparable(column, value)
        kept = [
            row
            for row in self.rows
            if all(row[column] == value for column, value in cells.items()) and (_test is None or _test(row))
        ]
        return Table(self.name, self.columns, kept)

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a data frame. The units are in ``frame.attrs["units"]``."""
        try:
            import pandas
        except ImportError as e:
            raise FlitwiseError('to_pandas needs pandas: pip install "flitwise[pandas]"') from e
        frame = pandas.DataFrame(self.rows, columns=self.columns)
        frame.attrs["units"] = self.units
        return frame

    def _comparable(self, column: str, value: Value) -> None:
        """Refuses a text for a column of numbers, and a number for a column of texts: no cell could be equal."""
        kinds = {isinstance(row[column], str) for row in self.rows if row[column] is not None}
        if value is None or not kinds or isinstance(value, str) in kinds:
            return
        other = "texts" if True in kinds else "numbers"
        example = next(row[column] for row in self.rows if row[column] is not None)
        raise FlitwiseError(f"`{column}` of {self.name} has {other}, such as {example!r}, and {value!r} equals none")

    def _known(self, columns: Union[Sequence[str], Mapping[str, Any]]) -> None:
        for column in columns:
            if column not in self.columns:
                raise FlitwiseError(f"{self.name} has no column `{column}`; {near(column, self.columns)}")


def read_table(path: "Union[str, os.PathLike[str]]") -> Table:
    """Reads a CSV or Parquet file that Flitwise wrote, such as a timeline."""
    place = Path(path)
    if place.suffix == ".parquet":
        return _parquet(place)
    try:
        with place.open(newline="", encoding="utf-8") as file:
            text = file.read()
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise FlitwiseError(f"{place} cannot be read: {e}") from e
    if not lines:
        raise FlitwiseError(f"{place} is empty; a table begins with the names of its columns")
    if not text.endswith("\n"):
        # The last cell may be a part of its number.
        raise FlitwiseError(f"{place}, record {len(lines)}: the line has no end; the file was cut or edited")
    columns, cells = lines[0], lines[1:]
    for number, line in enumerate(cells, 2):
        if len(line) != len(columns):
            raise FlitwiseError(
                f"{place}, record {number}: {len(line)} cells, and there are {len(columns)} columns; the file was cut or edited"
            )
    by_column = [typed(name, [line[at] for line in cells]) for at, name in enumerate(columns)]
    rows = [dict(zip(columns, row)) for row in zip(*by_column)] if cells else []
    return Table(str(place), columns, rows)


def find_table(directory: Path, name: str) -> Table:
    """The table of this name, as CSV or else as Parquet."""
    for suffix in (".csv", ".parquet"):
        if (directory / (name + suffix)).is_file():
            return read_table(directory / (name + suffix))
    there = sorted({p.stem for p in directory.glob("*") if p.suffix in (".csv", ".parquet")})
    what = f"; it has {', '.join(there)}" if there else ""
    raise FlitwiseError(f"{directory} has no table {name}.csv or {name}.parquet{what}")


def typed(name: str, cells: List[str]) -> List[Value]:
    """Cells of a column: whole numbers if all are, else numbers if all are, else texts."""
    if name not in _TEXTS:
        full = [cell for cell in cells if cell]
        if all(_INTEGER.match(cell) for cell in full):
            return [int(cell) if cell else None for cell in cells]
        try:
            return [float(cell) if cell else None for cell in cells]
        except ValueError:
            pass
    return [cell if cell else None for cell in cells]


def _parquet(place: Path) -> Table:
    try:
        from pyarrow import parquet
    except ImportError as e:
        raise FlitwiseError(f'{place} needs pyarrow: pip install "flitwise[parquet]"') from e
    try:
        found = parquet.read_table(place)
    except (OSError, ValueError) as e:
        raise FlitwiseError(f"{place} cannot be read: {e}") from e
    return Table(str(place), found.column_names, found.to_pylist())

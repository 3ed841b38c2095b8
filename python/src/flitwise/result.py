"""The result of a run: ``result.json`` and the tables beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Union

from .errors import FlitwiseError, near
from .table import Table, find_table, typed

if TYPE_CHECKING:
    import os

#: The layout that this package reads.
SCHEMA = "flitwise-result-1"


def read_json(place: Path, schema: str, what: str) -> Dict[str, Any]:
    """An object whose ``schema`` is this one."""
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except OSError as e:
        raise FlitwiseError(f"{place} cannot be read: {e.strerror or e}; {what}") from e
    except ValueError as e:
        raise FlitwiseError(f"{place} is no JSON: {e}; it was cut or edited") from e
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise FlitwiseError(f"{place} has the schema {found!r}, and this package reads {schema!r}; take the one of that version")
    return document


class UnknownKey(FlitwiseError, KeyError):
    """A key that ``result.json`` does not have. As a ``KeyError`` it lets ``get`` and ``in`` work."""

    __str__ = ValueError.__str__


class Result(Mapping[str, Any]):
    """The result of a run: a mapping with the keys of ``result.json``, such as ``result["slowdown"]``."""

    def __init__(self, path: "Union[str, os.PathLike[str]]"):
        place = Path(path)
        if place.is_dir():
            place = place / "result.json"
        what = "give a file that `flitwise run --json` printed, or a directory that `flitwise run --out` wrote"
        #: The path of ``result.json``.
        self.path = place
        #: The content of ``result.json``.
        self.data = read_json(place, SCHEMA, what)

    def __getitem__(self, key: str) -> Any:
        if key not in self.data:
            raise UnknownKey(f"{self.path} has no key `{key}`; {near(key, self.data)}")
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<Result {self.path}: {self.status}>"

    @property
    def status(self) -> str:
        """``complete``, ``interrupted``, ``stalled`` or ``saturated``."""
        return str(self.data["status"])

    @property
    def name(self) -> Optional[str]:
        """The name of the experiment; ``None`` if it has none."""
        return (self.data.get("about") or {}).get("name")

    def job(self, name: Optional[str] = None) -> Dict[str, Any]:
        """The entry of a job in ``jobs``. The name may be left out if there is one job."""
        return _named(self.data["jobs"], "name", name, self.path, "job")

    def explanation(self, job: Optional[str] = None) -> Dict[str, Any]:
        """The entry of a job in ``explanation``. The run needs ``--explain``."""
        found = self.data.get("explanation")
        if not found:
            raise FlitwiseError(f"{self.path} has no explanation; run the experiment with --explain, to its end")
        return _named(found, "job", job, self.path, "explanation")

    def parts(self, job: Optional[str] = None) -> Dict[str, int]:
        """The parts of a job's time in ps, by its explanation. They add up to the time of the job."""
        return dict(self.explanation(job)["parts"])

    def table(self, name: str) -> Table:
        """A table in the directory of the run: ``links``, ``curve``, ``flows``, ``port_vls``, ``sources`` or ``waits``."""
        return find_table(self.path.parent, name)

    @property
    def curve(self) -> Table:
        """Throughput and latency over load: a row for each load and service level."""
        rows = []
        # result.json has loads as texts, so that they are exact.
        loads = typed("load", [str(point["load"]) for point in self.data["curve"]])
        for point, load in zip(self.data["curve"], loads):
            flat = {key: value for key, value in point.items() if not isinstance(value, dict)}
            flat["load"] = load
            for sl, level in point["service_levels"].items():
                row = dict(flat, sl=sl)
                for key, value in level.items():
                    if isinstance(value, dict):
                        row.update({f"{_stem(key)}_{inner}{_end(key)}": cell for inner, cell in value.items()})
                    elif not key.endswith(("_ns", "_interval")):
                        row[f"sl_{key}"] = value
                rows.append(row)
        columns = list(dict.fromkeys(column for row in rows for column in row))
        return Table(f"the curve of {self.path}", columns, [{c: row.get(c) for c in columns} for row in rows])


def _stem(key: str) -> str:
    return key[:-3] if key.endswith("_ns") else key


def _end(key: str) -> str:
    return "_ns" if key.endswith("_ns") else ""


def _named(entries: List[Dict[str, Any]], key: str, name: Optional[str], path: Path, what: str) -> Dict[str, Any]:
    names = [entry[key] for entry in entries]
    if name is None and len(entries) == 1:
        return entries[0]
    if name is None:
        raise FlitwiseError(f"{path} has {len(entries)} jobs; name one of {', '.join(names) or 'none'}")
    if name not in names:
        raise FlitwiseError(f"{path} has no {what} of {name!r}; there is {', '.join(names) or 'none'}")
    return entries[names.index(name)]

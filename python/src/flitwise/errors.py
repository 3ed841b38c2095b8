"""The error of this package."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Iterable


class FlitwiseError(ValueError):
    """A file is missing, cut or of another version. The message names the file, the cause and the cure."""


def near(name: str, names: Iterable[str]) -> str:
    """The names most like ``name``, as the end of a message, or else all names."""
    known = list(names)
    close = get_close_matches(name, known, n=2)
    if close:
        return f"did you mean {' or '.join(f'`{other}`' for other in close)}?"
    return f"there are {', '.join(known) or 'none'}"

"""The error of this package."""


class FlitwiseError(ValueError):
    """A file that is missing or not what it should be. The message names it, the cause and the cure."""

"""The error of this package."""


class FlitwiseError(ValueError):
    """A file is missing, cut or of another version. The message names the file, the cause and the cure."""

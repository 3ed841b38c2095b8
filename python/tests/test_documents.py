"""The page of the package and its notebook: FLITWISE_BLESS=1 writes what the sources and the cells say now."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))

import flitwise  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "python.md"
NOTEBOOK = ROOT / "python" / "examples" / "first-study.ipynb"
PROGRAM = os.environ.get("FLITWISE") or shutil.which("flitwise")
BLESS = bool(os.environ.get("FLITWISE_BLESS"))

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
except ImportError:
    nbclient = None


class Page(unittest.TestCase):
    def test_the_page_lists_what_the_sources_say(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split("<!-- api -->\n")
        shown, after = rest.split("<!-- end -->")
        wanted = f"\n{reference.reference()}\n"
        if BLESS:
            PAGE.write_text(f"{before}<!-- api -->\n{wanted}<!-- end -->{after}", encoding="utf-8")
        else:
            self.assertEqual(shown, wanted, "FLITWISE_BLESS=1 writes docs/reference/python.md")

    def test_everything_public_is_documented(self) -> None:
        text = reference.reference()
        for name in flitwise.__all__:
            self.assertTrue(f"`flitwise.{name}" in text or f"### {name}\n" in text, name)
        self.assertNotRegex(text, r"(?m)^- `[^`]*`: $", "a member has no documentation")


@unittest.skipUnless(PROGRAM, "the program is neither in FLITWISE nor in PATH")
class Notebook(unittest.TestCase):
    """Both tests run the cells in a new directory, with the program under the name that the cells use."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        programs, self.work = Path(held.name) / "bin", Path(held.name) / "work"
        programs.mkdir()
        self.work.mkdir()
        (programs / "flitwise").symlink_to(Path(str(PROGRAM)).resolve())
        path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
        changed = unittest.mock.patch.dict(os.environ, {"PATH": path, "PYTHONPATH": str(ROOT / "python" / "src")})
        changed.start()
        self.addCleanup(changed.stop)
        self.document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    def cells(self) -> list:
        return [cell for cell in self.document["cells"] if cell["cell_type"] == "code"]

    def test_the_cells_print_what_the_notebook_shows(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.work)
        names: dict = {}
        for cell in self.cells():
            printed = io.StringIO()
            without_jupyter = unittest.mock.patch.dict(sys.modules, {"IPython": None, "IPython.display": None})
            with without_jupyter, contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
            output = {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
            wanted = [output] if output["text"] else []
            if BLESS:
                cell["outputs"] = wanted
            else:
                self.assertEqual(cell["outputs"], wanted, f"FLITWISE_BLESS=1 writes {NOTEBOOK}")
        if BLESS:
            NOTEBOOK.write_text(json.dumps(self.document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @unittest.skipUnless(nbclient, "nbclient and ipykernel are not installed")
    def test_jupyter_runs_the_notebook(self) -> None:
        notebook = nbformat.reads(json.dumps(self.document), as_version=4)
        nbformat.validate(notebook)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(self.work)}}).execute()
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for cell, committed in zip(cells, self.cells()):
            wanted = "".join("".join(output["text"]) for output in committed["outputs"])
            self.assertEqual("".join(output.get("text", "") for output in cell.outputs), wanted)
        self.assertIn("image/svg+xml", cells[-1].outputs[0].data)


if __name__ == "__main__":
    unittest.main()

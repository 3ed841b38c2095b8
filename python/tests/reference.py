"""The generated part of docs/reference/python.md, from the sources of the package."""

import ast
import re
from pathlib import Path
from typing import Iterator, List, Optional, Tuple

SOURCES = Path(__file__).resolve().parents[1] / "src" / "flitwise"
#: The modules, in the order of the page.
MODULES = ("__init__", "result", "study", "statistics", "table", "errors")


def reference() -> str:
    """Returns the lists: functions and types first, then the members of each class."""
    names: List[Tuple[str, str]] = []
    classes: List[str] = []
    for module in MODULES:
        text = (SOURCES / f"{module}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                names.append((f"flitwise.{_call(node)}", _words(ast.get_docstring(node))))
            elif isinstance(node, ast.ClassDef):
                members = list(_members(node, text.splitlines()))
                if members:
                    classes.append(f"### {node.name}\n\n{_words(ast.get_docstring(node))}\n\n{_list(members)}")
                else:
                    names.append((f"flitwise.{node.name}", _words(ast.get_docstring(node))))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
                target = node.targets[0]
                comment = _comment(node, text.splitlines())
                if isinstance(target, ast.Name) and not target.id.startswith("_") and comment:
                    names.append((f"flitwise.{target.id}", comment))
    public = _public()
    names = [(name, words) for name, words in names if re.split(r"[.(]", name)[1] in public]
    return "\n\n".join([_list(names), *classes]) + "\n"


def _public() -> List[str]:
    tree = ast.parse((SOURCES / "__init__.py").read_text(encoding="utf-8"))
    found = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    return list(ast.literal_eval(found[0]))


def _members(owner: ast.ClassDef, lines: List[str]) -> Iterator[Tuple[str, str]]:
    """Fields, attributes that ``__init__`` sets, properties and methods, with their documentation."""
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield f".{node.target.id}", _comment(node, lines) or ""
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for inner in node.body:
                target = inner.targets[0] if isinstance(inner, ast.Assign) else getattr(inner, "target", None)
                if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                    yield f".{target.attr}", _comment(inner, lines) or ""
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            is_property = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
            yield f".{node.name if is_property else _call(node)}", _words(ast.get_docstring(node))


def _comment(node: ast.stmt, lines: List[str]) -> Optional[str]:
    """The ``#:`` comment above a statement."""
    above = lines[node.lineno - 2].strip()
    return _words(above[2:].strip()) if above.startswith("#:") else None


def _call(function: ast.FunctionDef) -> str:
    """The name with its arguments, without their types."""
    arguments = function.args
    for argument in [*arguments.args, *([arguments.kwarg] if arguments.kwarg else [])]:
        argument.annotation = None
    arguments.args = [argument for argument in arguments.args if argument.arg != "self"]
    return f"{function.name}({ast.unparse(arguments)})"


def _words(docstring: Optional[str]) -> str:
    """Documentation on one line of Markdown, without its examples for a shell of Python."""
    text = re.sub(r"\s*>>>.*", "", docstring or "", flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip().replace("``", "`")


def _list(rows: List[Tuple[str, str]]) -> str:
    return "\n".join(f"- `{name}`: {words}" for name, words in rows)

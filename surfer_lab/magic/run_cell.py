"""How is a cell under `%%predict` run as if the magic were not there?

Transformed, compiled and shown like a plain cell: the last expression is displayed as Out, tracebacks show the user's
frames alone with the line numbers of the visible cell, and the user's exception leaves as it is. Top-level `await` is
refused by Python (a cell magic runs inside the kernel's event loop).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Final, Literal

from IPython.core.interactiveshell import InteractiveShell

from surfer_lab.panel.cells import cell_number

__all__ = ["flush_figures", "parsed_cell", "run_cell_plainly", "show_without_frames"]

Mode = Literal["exec", "single"]

_ASSIGNMENTS: Final = (ast.Assign, ast.AugAssign, ast.AnnAssign)


def run_cell_plainly(shell: InteractiveShell, cell: str) -> None:
    """Run the cell in the user's namespace once. Raises what it raises."""
    try:
        transformed, filename, tree = parsed_cell(shell, cell)
    except SyntaxError:
        show_without_frames(shell)
        raise
    compile_as_shell: Callable[[ast.AST, str, str], CodeType] = shell.compile  # type: ignore[assignment] # takes trees too
    try:
        quiet = _ends_in_semicolon(transformed)
        for node, mode in _parts(list(tree.body), "none" if quiet else shell.ast_node_interactivity):
            module: ast.Module | ast.Interactive = (
                ast.Interactive([node]) if mode == "single" else ast.Module([node], [])
            )
            code = compile_as_shell(module, filename, mode)
            exec(code, shell.user_global_ns, shell.user_ns)
    except BaseException as error:
        if isinstance(error, SyntaxError) and _from_file(error.__traceback__, filename) is None:
            show_without_frames(shell)  # `return` outside a function, and what else the compiler alone sees
        _show_like_a_plain_cell(shell, error, filename)
        raise


def parsed_cell(shell: InteractiveShell, cell: str) -> tuple[str, str, ast.Module]:
    """The cell as Python, the name of its file in tracebacks, and its tree. SyntaxError as in a plain cell."""
    # the magic's own line is the first of the visible cell, and IPython takes empty lines at a cell's start away
    empty_count = len(cell) - len(cell.lstrip("\n"))
    transformed: str = "\n" * (1 + empty_count) + shell.transform_cell(cell)
    filename = shell.compile.cache(transformed, cell_number(shell), raw_code=cell)
    tree: ast.Module = shell.transform_ast(shell.compile.ast_parse(transformed, filename=filename))
    return transformed, filename, tree


def _parts(nodes: list[ast.stmt], interactivity: str) -> Iterator[tuple[ast.stmt, Mode]]:
    """Each statement and how it is compiled, by IPython's `ast_node_interactivity`."""
    if not nodes:
        return
    shown = {"all": len(nodes), "last": 1, "none": 0}.get(interactivity)
    if shown is None:
        if interactivity == "last_expr_or_assign":
            name = _assigned_name(nodes[-1])
            if name is not None:
                nodes.append(ast.fix_missing_locations(ast.Expr(ast.Name(name, ast.Load()))))
        shown = 1 if isinstance(nodes[-1], ast.Expr) else 0
    for index, node in enumerate(nodes):
        yield node, "single" if index >= len(nodes) - shown else "exec"


def _ends_in_semicolon(source: str) -> bool:
    """Whether the last expression is asked not to be shown, comments left aside."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    shown = [token.string for token in tokens if token.type not in empty]
    return bool(shown) and shown[-1] == ";"


def _assigned_name(node: ast.stmt) -> str | None:
    if not isinstance(node, _ASSIGNMENTS):
        return None
    target = (
        node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else getattr(node, "target", None)
    )
    return target.id if isinstance(target, ast.Name) else None


def _show_like_a_plain_cell(shell: InteractiveShell, error: BaseException, filename: str) -> None:
    """Have IPython print the traceback from the user's first frame on; the frames themselves stay on the exception."""
    users = _from_file(error.__traceback__, filename)
    if users is None or hasattr(error, "_render_traceback_"):
        return

    def render() -> list[str]:
        return list(shell.InteractiveTB.structured_traceback(type(error), error, users, tb_offset=0))

    def forget(*_result: object) -> None:
        shell.events.unregister("post_run_cell", forget)
        vars(error).pop("_render_traceback_", None)

    if _set(error, render):
        shell.events.register("post_run_cell", forget)


def show_without_frames(shell: InteractiveShell) -> None:
    """Have IPython print the next syntax error as that of a plain cell: the line alone, no frames of what read it."""

    def show(filename: str | None = None, running_compiled_code: bool = False) -> None:
        type(shell).showsyntaxerror(shell, filename)

    def forget(*_result: object) -> None:
        shell.events.unregister("post_run_cell", forget)
        vars(shell).pop("showsyntaxerror", None)

    vars(shell)["showsyntaxerror"] = show
    shell.events.register("post_run_cell", forget)


def _set(error: BaseException, render: Callable[[], list[str]]) -> bool:
    try:
        error._render_traceback_ = render  # type: ignore[attr-defined] # IPython's own protocol for exceptions
    except AttributeError:  # an exception class with __slots__
        return False
    return True


def _from_file(traceback: TracebackType | None, filename: str) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename != filename:
        traceback = traceback.tb_next
    return traceback


def flush_figures() -> None:
    """Show the figures that the cell drew inline before what is displayed next, as a plain cell would at its end."""
    backend = sys.modules.get("matplotlib_inline.backend_inline")
    if backend is not None:
        backend.flush_figures()

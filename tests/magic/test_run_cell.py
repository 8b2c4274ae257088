"""A cell under the magic behaves as a plain cell: outputs, errors, namespace."""

from __future__ import annotations

import pytest

from surfer_lab.magic.run_cell import run_cell_plainly


@pytest.fixture
def both(shell):
    """Runs a cell plainly and under a magic that only runs it, each in a fresh namespace."""
    shell.ip.register_magic_function(lambda line, cell: run_cell_plainly(shell.ip, cell), "cell", "plainly")

    def run(cell):
        seen = []
        for text in (f"None\n{cell}", f"%%plainly\n{cell}"):
            shell.ip.reset()
            result = shell.run(text)
            names = {name for name in shell.ip.user_ns if not name.startswith("_")} - {"In", "Out", "exit", "quit"}
            seen.append((result, shell.out, shell.err, names))
        return seen

    return run


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\nx + 41",
        "x = 1\nx + 41;",
        "x = 1\nx + 41  # not ; quiet",
        "print('a'); print('b')\nfor i in range(2):\n    i",
        "None",
        "def f(y):\n    return y * 2\nf(4)",
        "!echo from the shell",
        "%time z = 3",
        "import math\n\n\nmath.pi",
        "# only a comment",
    ],
)
def test_output_and_namespace_are_those_of_a_plain_cell(both, cell):
    (plain, plain_out, _, plain_names), (ours, our_out, _, our_names) = both(cell)
    assert ours.success == plain.success is True
    if "%time" not in cell:
        assert our_out.replace("Out[2]", "Out[1]") == plain_out
    assert our_names == plain_names
    assert ours.result == plain.result


@pytest.mark.parametrize("interactivity", ["all", "last", "last_expr", "none", "last_expr_or_assign"])
def test_what_is_shown_follows_the_shells_setting(both, shell, interactivity):
    shell.ip.ast_node_interactivity = interactivity
    (_, plain_out, _, _), (_, our_out, _, _) = both("1\n2\nx = 3")
    assert our_out.replace("Out[2]", "Out[1]") == plain_out


def test_an_error_leaves_as_it_is_and_its_traceback_starts_at_the_users_frame(both):
    cell = "def f():\n    raise ValueError('boo')\nx = 1\nf()\ny = 2"
    (plain, plain_out, _, plain_names), (ours, our_out, _, our_names) = both(cell)
    assert type(ours.error_in_exec) is type(plain.error_in_exec) is ValueError
    assert our_names == plain_names
    assert "run_cell" not in our_out
    assert "get_ipython" not in our_out
    assert our_out.replace("In[2]", "In[1]") == plain_out
    assert not vars(ours.error_in_exec)


def test_a_chained_error_shows_both(both):
    (_, plain_out, _, _), (_, our_out, _, _) = both(
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise OSError('o') from e"
    )
    assert our_out.replace("In[2]", "In[1]") == plain_out


def test_a_syntax_error_is_one_of_the_users_line(both):
    _, (ours, our_out, our_err, _) = both("x = = 3")
    assert isinstance(ours.error_in_exec, SyntaxError)
    assert "x = = 3" in our_out + our_err


def test_an_exit_and_an_interrupt_pass(both):
    (_, _, _, _), (ours, _, _, _) = both("raise KeyboardInterrupt")
    assert isinstance(ours.error_in_exec, KeyboardInterrupt)


def test_line_numbers_are_those_of_the_visible_cell(shell):
    shell.ip.register_magic_function(lambda line, cell: run_cell_plainly(shell.ip, cell), "cell", "plainly")
    shell.run("%%plainly\n\nx = 1\n1 / 0")
    assert "----> 4 1 / 0" in shell.out


def test_source_of_a_function_made_in_the_cell_can_be_read(shell):
    shell.ip.register_magic_function(lambda line, cell: run_cell_plainly(shell.ip, cell), "cell", "plainly")
    shell.run("%%plainly\ndef f():\n    return 7\nimport inspect\nsource = inspect.getsource(f)")
    assert shell["source"] == "def f():\n    return 7\n"


@pytest.mark.parametrize("cell", ["for x in:\n    pass", "x = 1\nreturn 2", "import asyncio\nawait asyncio.sleep(0)"])
def test_a_syntax_error_is_shown_as_in_a_plain_cell_without_the_frames_that_read_it(shell, cell):
    result = shell.run("%%predict\n" + cell)
    assert isinstance(result.error_in_exec or result.error_before_exec, SyntaxError)
    said = shell.out + shell.err
    assert "SyntaxError" in said
    assert "surfer_lab" not in said and "IPython" not in said
    shell.run("exec('y =')")
    assert "SyntaxError" in shell.out + shell.err  # and later ones as ever
    assert "showsyntaxerror" not in vars(shell.ip)

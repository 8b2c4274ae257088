"""The plane of what is alike: against numpy's own decomposition, its invariances, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.errors import PredictionError
from surfer_lab.planner.characterise.similarity import Characteristics, PointGroup, similarity

NUMBERS = st.floats(-100, 100, allow_nan=False)
TABLES = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=4, max_size=9)
)


def rows(table, group=PointGroup.REFERENCE):
    return [
        Characteristics(name=f"w{at}", group=group, values={f"c{number}": value for number, value in enumerate(row)})
        for at, row in enumerate(table)
    ]


def test_points_on_a_line_need_one_axis():
    found = similarity(rows([[0, 0, 5], [1, 2, 5], [2, 4, 5], [4, 8, 5]]))
    assert found.explained_fractions == pytest.approx((1.0, 0.0))
    assert found.left_out == ("c2",)
    # both characteristics are one deviation long after standardising, so the axis is their diagonal
    assert found.loadings["c0"][0] == pytest.approx(found.loadings["c1"][0]) == pytest.approx(2**-0.5)
    assert [point.y for point in found.points] == pytest.approx([0.0] * 4, abs=1e-9)
    assert [point.nearest for point in found.points] == ["w1", "w0", "w1", "w2"]


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_places_are_those_of_the_correlations_eigenvectors(table):
    values = np.array(table)
    standard = values - values.mean(axis=0)
    spread = np.sqrt((standard**2).mean(axis=0))
    if (spread < 1e-3).any():
        return
    standard = standard / spread
    eigenvalues = np.sort(np.linalg.eigvalsh(standard.T @ standard))[::-1]
    found = similarity(rows(table))
    explained = np.array(found.explained_fractions)
    assert explained == pytest.approx(eigenvalues[:2] / eigenvalues.sum(), abs=1e-6)
    x = np.array([point.x for point in found.points])
    assert float((x**2).sum()) == pytest.approx(eigenvalues[0], rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(TABLES, st.floats(0.1, 50), st.floats(-20, 20))
def test_units_and_offsets_do_not_move_a_point(table, factor, offset):
    moved = [[row[0] * factor + offset, *row[1:]] for row in table]
    if np.std([row[0] for row in table]) < 1e-2:
        return
    before, after = similarity(rows(table)), similarity(rows(moved))
    assert [point.distance for point in after.points] == pytest.approx(
        [point.distance for point in before.points], rel=1e-6, abs=1e-6
    )
    assert after.explained_fractions == pytest.approx(before.explained_fractions, abs=1e-6)


def test_a_group_counts_once_however_many_it_holds():
    own = rows([[0, 1], [1, 0], [3, 3]])
    few = rows([[9, 9]], PointGroup.KERNEL)
    many = few * 50
    before, after = similarity([*own, *few]), similarity([*own, *many])
    assert [(point.x, point.y) for point in after.points[:3]] == [
        pytest.approx((point.x, point.y)) for point in before.points[:3]
    ]
    assert after.points[-1].nearest is None


@pytest.mark.parametrize(
    ("given_rows", "said"),
    [
        (rows([[1, 2], [2, 3]]), "2 workloads"),
        ([*rows([[1, 2], [2, 3]]), *rows([[1, 2, 3]])], "different characteristics"),
        (rows([[1, 2], [2, float("nan")], [3, 4]]), "not known"),
    ],
)
def test_what_makes_no_plane_is_refused(given_rows, said):
    with pytest.raises(PredictionError, match=said):
        similarity(given_rows)

"""Reference workloads characterised: the words that name them, and the bundled table held against the predictor."""

from __future__ import annotations

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.planner.characterise.characteristics import REFERENCE_GPU, workload_characteristics
from surfer_lab.planner.characterise.similarity import PointGroup
from surfer_lab.report.characterised import CharacterOptions
from surfer_lab.report.reference_workloads import load_references
from surfer_lab.workloads.characterised import REFERENCE_BATCHES, characterise_workload, workload_step
from surfer_lab.workloads.registry import names

# logarithms and shares; a refit that moves one farther wants the table made anew
TOLERANCE = 0.15


def test_every_batch_is_of_a_workload_and_the_table_has_them():
    assert set(REFERENCE_BATCHES) <= set(names())
    assert {one.name: one.batch_size for one in load_references().workloads}.items() <= REFERENCE_BATCHES.items()


def test_a_workload_is_a_name_or_a_factory():
    assert workload_step("ncf").name == "ncf"
    assert workload_step("surfer_lab.workloads:lenet").name == "lenet"
    with pytest.raises(OptionError, match="bert"):
        workload_step("bert_larg")


@pytest.mark.parametrize("name", ["dcgan", "ncf"])
def test_the_bundled_table_is_what_the_predictor_says(name):
    """If not: python -m tools.write_reference_workloads."""
    kept = next(one for one in load_references().workloads if one.name == name)
    told: list[str] = []
    page = characterise_workload(name, CharacterOptions(on=(REFERENCE_GPU,), counts=(1, 8)), told.append)
    found = workload_characteristics(page, PointGroup.REFERENCE)
    assert found is not None
    assert dict(found.values) == pytest.approx(kept.values, rel=TOLERANCE, abs=TOLERANCE)
    assert told[0] == f"{name}: capturing from shapes"

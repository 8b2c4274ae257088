"""A few hundred mutants in every test run; the 5,000 are run by `python -m tests.trace.fuzz`."""

from __future__ import annotations

import pytest

from tests.trace.fuzz import attempt, material, mutant

DOCUMENTS = material()
MUTANTS_EACH = 50


@pytest.mark.parametrize("first_seed", range(0, 300, MUTANTS_EACH))
def test_mutants_are_read_or_refused_in_one_sentence(first_seed):
    for seed in range(first_seed, first_seed + MUTANTS_EACH):
        try:
            attempt(mutant(seed, DOCUMENTS))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error

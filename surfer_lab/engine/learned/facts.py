"""What does a learned predictor know of an item, before any GPU is named? Numbers that follow from shapes alone.

A row an item, a column a fact (`COLUMNS_OF_FACTS`): plain arrays, so that a table of a thousand captured steps is one
array on disk and equal rows are worked out once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.lowering import Family
from surfer_lab.engine.work_items import Work

__all__ = ["COLUMNS_OF_FACTS", "FAMILIES", "NO_FAMILY", "Fact", "facts_of"]

F64 = NDArray[np.float64]

FAMILIES: Final = tuple(Family)
NO_FAMILY: Final = len(FAMILIES)  # code of an item of which nothing can be said


class Fact:
    """Columns by name."""

    FAMILY: Final = 0  # index into FAMILIES
    RATE_CLASS: Final = 1  # index into rates.RATE_CLASSES, by dtype
    TF32: Final = 2  # Tf32Switch
    MEMORY_FORMAT: Final = 3  # MemoryFormat
    FLOP: Final = 4  # 0: none, or unknown
    READ_BYTES: Final = 5
    MOVED_BYTES: Final = 6
    LAUNCHES: Final = 7
    BATCH: Final = 8  # of the product behind the item, with m, n and k; zeros: none
    M: Final = 9
    N: Final = 10
    K: Final = 11
    THREADS: Final = 12  # of the grid; 0: unknown
    FLOP_FRACTION: Final = 13
    IMAGES: Final = 14  # first extent of the op's first tensor
    IS_SCALED: Final = 15  # 0: copies over the host link, and items of which nothing can be said


COLUMNS_OF_FACTS: Final = 16


def facts_of(work: Work) -> F64:
    """(items, facts) of some items; what is unknown is 0."""
    code = np.array([NO_FAMILY if one is None else FAMILIES.index(one) for one in work.family], dtype=np.int64)
    facts = np.empty((len(work), COLUMNS_OF_FACTS))
    facts[:, Fact.FAMILY] = code[work.family_code]
    facts[:, Fact.RATE_CLASS] = work.base_class
    facts[:, Fact.TF32] = work.tf32
    facts[:, Fact.MEMORY_FORMAT] = work.memory_format
    facts[:, Fact.FLOP] = np.nan_to_num(work.items.flop)
    facts[:, Fact.READ_BYTES] = np.nan_to_num(work.read_bytes)
    facts[:, Fact.MOVED_BYTES] = np.nan_to_num(work.items.bytes)
    facts[:, Fact.LAUNCHES] = work.items.launch_count
    facts[:, Fact.BATCH : Fact.K + 1] = work.gemm
    facts[:, Fact.THREADS] = work.threads
    facts[:, Fact.FLOP_FRACTION] = work.flop_fraction
    facts[:, Fact.IMAGES] = work.first_extent
    facts[:, Fact.IS_SCALED] = ~(work.over_host_link | work.is_communication | work.unscaled)
    return facts

"""DDP's buckets: as torch makes them of gradients in the order in which they are ready."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.scaling.buckets import FIRST_BUCKET_BYTES, buckets_of
from surfer_lab.units import BYTES_PER_MIB

SIZES = st.lists(st.integers(1, 60 * BYTES_PER_MIB), min_size=1, max_size=60)


@given(sizes=SIZES, cap=st.none() | st.floats(0.1, 100.0))
def test_every_gradient_is_in_one_bucket_in_order(sizes, cap):
    buckets = buckets_of(sizes, cap)
    assert [number for bucket in buckets for number in bucket.gradients] == list(range(len(sizes)))
    assert sum(bucket.size_bytes for bucket in buckets) == sum(sizes)


@given(sizes=SIZES)
def test_a_bucket_is_closed_by_the_gradient_that_fills_it(sizes):
    buckets = buckets_of(sizes)
    for at, bucket in enumerate(buckets):
        cap = FIRST_BUCKET_BYTES if at == 0 else 25 * BYTES_PER_MIB
        assert bucket.size_bytes - sizes[bucket.gradients[-1]] < cap
        assert bucket.size_bytes >= cap or at == len(buckets) - 1


def test_the_reducer_of_torch_makes_the_same_buckets():
    import torch
    import torch.distributed as dist

    shapes = [(300, 300), (10,), (1000, 1000), (2000, 2000), (7,), (3000, 1500), (64, 64)]
    tensors = [torch.empty(shape, device="meta") for shape in shapes]
    assigned, _ = dist._compute_bucket_assignment_by_size(
        [torch.empty(shape) for shape in shapes], [dist._DEFAULT_FIRST_BUCKET_BYTES, 25 * BYTES_PER_MIB]
    )
    ours = buckets_of([tensor.numel() * tensor.element_size() for tensor in tensors])
    assert sorted(sorted(one) for one in assigned) == sorted(sorted(bucket.gradients) for bucket in ours)

"""How many GPUs hold a step together: worked out by hand for a stack of equal blocks."""

from __future__ import annotations

import pytest

from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.planner.sharding import sharded_needs

torch = pytest.importorskip("torch")

GB = 1_000_000_000


@pytest.fixture(scope="module")
def step():
    from surfer_lab.capture import trace_symbolic

    def build():  # ten blocks of 1.6 GB: 16 GB of weights, with gradients and momentum 48 GB
        model = torch.nn.Sequential(*(torch.nn.Linear(20_000, 20_000, bias=False) for _ in range(10)))
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def run(made):
        model, optimizer = made
        model(torch.randn(8, 20_000)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return trace_symbolic(run, build=build)


def test_states_are_divided_and_three_blocks_are_gathered(step):
    (need,) = sharded_needs(step, [load_catalog().find("RTX 4090")])
    # 1.1 x (48 GB / N + 3 x 1.6 GB and little else) within 24 GB less the context: N = 3 gives 22.9 GB, N = 4 18.5 GB
    assert need is not None
    assert need.gpu_count in (3, 4)
    assert need.bytes_each == pytest.approx(1.1 * (48 * GB / need.gpu_count + 4.8 * GB), rel=0.03)
    assert not need.recomputes


def test_larger_cards_need_no_more_of_them(step):
    catalog = load_catalog()
    counts = [need.gpu_count for need in sharded_needs(step, [catalog.find(n) for n in ("B200", "H100 SXM5", "L4")])]
    assert counts == sorted(counts)

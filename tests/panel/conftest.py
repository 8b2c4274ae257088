"""One kernel for the tests of the comm: starting one takes seconds."""

from __future__ import annotations

import pytest

from tests.panel.kernels import Kernel

CELL = """%%predict --name {name} --on "H100 SXM5,L4,A100 SXM4 40GB"
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(16, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    started = Kernel(SURFER_LAB_CACHE_DIR=str(tmp_path_factory.mktemp("cache")))
    assert started.run("%load_ext surfer_lab") is None
    yield started
    started.close()


@pytest.fixture(scope="session")
def predicted(kernel):
    """A comm that has greeted, and the id of a finished prediction."""
    comm = kernel.open()
    kernel.answer(kernel.ask(comm, "hello", protocol=1, version="0", schema_version=2, notebook="work/train.ipynb"))
    assert kernel.run(CELL.format(name="small")) is None
    ready = kernel.wait(lambda data: data.get("kind") == "grid-ready")
    return comm, ready["prediction"]

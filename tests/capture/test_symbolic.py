"""A step captured from shapes alone: the same ops and tensors as really run, and nothing of the user's touched."""

from __future__ import annotations

import copy
import gc
import io
import random
import sys
import types
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from surfer_lab import workloads
from surfer_lab.capture import observe_symbolic, record, trace_symbolic
from surfer_lab.errors import CaptureError
from surfer_lab.trace import check
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import Phase, StepSource, TensorRole
from tests.capture.fingerprints import digest, surroundings
from tests.capture.programs import mlp, small_cnn
from tests.capture.reading import bytes_of, lives, names, rows

Step = Callable[[], Any]


def _ops(trace: Trace) -> list[Any]:
    return [(row.name, row.phase, row.shapes, row.dtypes, row.results, row.module) for row in rows(trace)]


def _tensors(trace: Trace) -> list[Any]:
    return [tuple(life) for life in lives(trace) if life.size_bytes > 8]  # numbers live as python happens to keep them


def _run(step: Step) -> Trace:
    with record() as r:
        for _ in range(3):
            step()
    return r.trace


def _assert_same(make: Callable[[], Step]) -> None:
    ran, symbolic = _run(make()), trace_symbolic(make())
    assert _ops(symbolic) == _ops(ran)
    assert sorted(_tensors(symbolic)) == sorted(_tensors(ran))
    assert symbolic.batch_size == ran.batch_size


def _training(
    model: nn.Module, *inputs: torch.Tensor, optimizer: type[torch.optim.Optimizer] = torch.optim.SGD, **settings: Any
) -> Step:
    steps = optimizer(model.parameters(), **({"lr": 0.1} | settings))

    def step() -> None:
        steps.zero_grad()
        out = model(*inputs)
        (out[0] if isinstance(out, tuple) else out).float().square().mean().backward()
        steps.step()

    return step


# -- the same as really running ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "resnet50", "inception_v3", "transformer", "gnmt", "dcgan", "ssd300", "ssd300_resnet34", "mask_rcnn", "ncf",
    "bert_base", "dlrm", "gpt2", "caffenet", "lenet", "llama_7b", "llama3_8b",
])  # fmt: skip
def test_a_workload_is_captured_as_it_runs(name: str) -> None:
    def make() -> Step:
        workload = workloads.build(name, **workloads.tiny_sizes(name))
        batch = workload.example_inputs(2)
        return lambda: workload.step(batch)

    _assert_same(make)


class _Block(nn.Module):
    def __init__(self, *, reentrant: bool) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Dropout(0.1))
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return x * weight.exp()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, weight = ctx.saved_tensors
        return gradient * weight.exp(), (gradient * x * weight.exp()).sum(0)


class _Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Scale.apply(x, self.weight)


class _SelfAttention(nn.Module):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True, **settings)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class _Sdpa(nn.Module):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.qkv, self.settings = nn.Linear(16, 48), settings

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).view(x.shape[0], x.shape[1], 3, 4, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, **self.settings)


def _channels_last() -> Step:
    model = small_cnn().to(memory_format=torch.channels_last)
    return _training(model, torch.randn(4, 3, 8, 8).to(memory_format=torch.channels_last))


def _accumulating() -> Step:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        for _ in range(3):
            model(torch.randn(4, 16)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return step


def _amp(device: str, dtype: torch.dtype) -> Step:
    model = nn.Sequential(small_cnn(), nn.LayerNorm(4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype is torch.float16)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype):
            loss = F.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.zeros(4, dtype=torch.int64))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step


def _two_optimizers() -> Step:
    generator, critic = mlp(16, 16), mlp(16, 1)
    first, second = torch.optim.Adam(critic.parameters()), torch.optim.Adam(generator.parameters())

    def step() -> None:
        first.zero_grad()
        critic(generator(torch.randn(4, 16)).detach()).mean().backward()
        first.step()
        second.zero_grad()
        critic(generator(torch.randn(4, 16))).mean().backward()
        second.step()

    return step


FEATURES: dict[str, Callable[[], Step]] = {
    "checkpointing": lambda: _training(_Block(reentrant=False), torch.randn(4, 16, requires_grad=True)),
    "reentrant checkpointing": lambda: _training(_Block(reentrant=True), torch.randn(4, 16, requires_grad=True)),
    "accumulation and clipping": _accumulating,
    "autocast on the CPU": lambda: _amp("cpu", torch.bfloat16),
    "autocast for CUDA, bf16": lambda: _amp("cuda", torch.bfloat16),
    "autocast for CUDA, fp16 with a scaler": lambda: _amp("cuda", torch.float16),
    "channels_last": _channels_last,
    "two optimizers": _two_optimizers,
    "LSTM": lambda: _training(nn.LSTM(6, 5, 2, dropout=0.1, batch_first=True), torch.randn(3, 7, 6)),
    "GRU, both directions": lambda: _training(nn.GRU(6, 5, bidirectional=True, batch_first=True), torch.randn(3, 7, 6)),
    "RNN cell": lambda: _training(nn.LSTMCell(6, 5), torch.randn(3, 6)),
    "custom autograd function": lambda: _training(_Custom(), torch.randn(4, 16)),
    "MultiheadAttention": lambda: _training(_SelfAttention(), torch.randn(2, 6, 16)),
    "MultiheadAttention, dropout": lambda: _training(_SelfAttention(dropout=0.1), torch.randn(2, 6, 16)),
    "attention": lambda: _training(_Sdpa(), torch.randn(2, 6, 16)),
    "attention, causal": lambda: _training(_Sdpa(is_causal=True), torch.randn(2, 6, 16)),
    "attention, mask and dropout": lambda: _training(
        _Sdpa(attn_mask=torch.zeros(2, 1, 6, 6), dropout_p=0.1), torch.randn(2, 6, 16)
    ),
    "encoder layer": lambda: _training(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), torch.randn(2, 6, 16)),
    "embedding and tied weights": lambda: _training(_Tied(), torch.arange(12).view(2, 6)),
    "weight norm": lambda: _training(
        nn.utils.parametrizations.weight_norm(nn.Linear(16, 16)), torch.randn(4, 16)
    ),
    "spectral norm": lambda: _training(nn.utils.parametrizations.spectral_norm(nn.Linear(16, 16)), torch.randn(4, 16)),
    "transposed and 3D convolution": lambda: _training(
        nn.Sequential(nn.ConvTranspose3d(2, 3, 3, stride=2), nn.BatchNorm3d(3)), torch.randn(2, 2, 3, 3, 3)
    ),
    **{
        f"{name} {settings}": lambda name=name, settings=settings: _training(
            mlp(), torch.randn(4, 16), optimizer=getattr(torch.optim, name), **settings
        )
        for name, settings in (
            ("SGD", {"momentum": 0.9}), ("SGD", {"foreach": False}), ("SGD", {"fused": True}), ("AdamW", {}),
            ("AdamW", {"fused": True}), ("AdamW", {"foreach": True}), ("AdamW", {"foreach": False}),
            ("Adam", {"amsgrad": True}),
            ("RMSprop", {"centered": True}), ("Adagrad", {}), ("NAdam", {}), ("Adadelta", {}),
        )
    },
}  # fmt: skip


class _Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(ids))


@pytest.mark.parametrize("make", FEATURES.values(), ids=FEATURES)
def test_a_feature_is_captured_as_it_runs(make: Callable[[], Step]) -> None:
    _assert_same(make)


def _transformers() -> dict[str, Any]:
    hf = pytest.importorskip("transformers", reason="transformers is not installed")
    small = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100,
    }  # fmt: skip
    return {
        "gpt2": (
            hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, bos_token_id=0, eos_token_id=0),
            hf.GPT2LMHeadModel,
        ),
        "bert": (hf.BertConfig(**small), hf.BertForMaskedLM),
        "llama": (hf.LlamaConfig(**small, num_key_value_heads=2), hf.LlamaForCausalLM),
        "t5": (
            hf.T5Config(
                d_model=32, num_layers=2, num_heads=4, d_ff=64, vocab_size=100, d_kv=8, decoder_start_token_id=0
            ),
            hf.T5ForConditionalGeneration,
        ),
        "mixtral": (hf.MixtralConfig(**small, num_key_value_heads=2, num_local_experts=4), hf.MixtralForCausalLM),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "t5", "mixtral"])
@pytest.mark.filterwarnings("ignore")  # the library's own
def test_a_transformers_model_is_captured_as_it_runs(name: str) -> None:
    config, cls = _transformers()[name]

    def make() -> Step:
        torch.manual_seed(0)
        model = cls(config).train()
        optimizer = torch.optim.AdamW(model.parameters())
        ids = torch.randint(3, 99, (2, 12))

        def step() -> None:
            optimizer.zero_grad()
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()

        return step

    _assert_same(make)


# -- without weights, without data -------------------------------------------------------------------------------------


def test_a_model_that_no_machine_holds_is_captured() -> None:
    def build() -> Any:
        model = nn.Sequential(*(nn.Linear(1 << 18, 1 << 18, bias=False) for _ in range(4)))  # a TiB of weights
        return model, torch.optim.AdamW(model.parameters())

    def step(made: Any) -> None:
        model, optimizer = made
        optimizer.zero_grad()
        model(torch.ones(2, 1 << 18)).sum().backward()
        optimizer.step()

    trace = trace_symbolic(step, build=build)
    assert bytes_of(trace, TensorRole.PARAMETER) == bytes_of(trace, TensorRole.GRADIENT) == 4 << 38
    assert bytes_of(trace, TensorRole.OPTIMIZER_STATE) == 8 << 38
    assert trace.origin is TraceOrigin.SYMBOLIC and trace.wall_ns == 0 and not trace.ops.duration_ns.any()
    check(trace)


def test_modules_called_while_others_are_built_are_no_steps() -> None:
    def build() -> tuple[nn.Module, torch.optim.Optimizer]:
        model = nn.Linear(8, 4)
        for _ in range(10):  # as a parametrization is registered, or a lazy module finds its sizes
            model(torch.ones(2, 8))
        return model, torch.optim.SGD(model.parameters())

    def step(made: tuple[nn.Module, torch.optim.Optimizer]) -> None:
        model, optimizer = made
        model(torch.ones(16, 8)).sum().backward()
        optimizer.step()

    trace = trace_symbolic(step, build=build)
    assert trace.step_source is StepSource.OPTIMIZER
    assert trace.batch_size == 16
    assert {Phase.BACKWARD, Phase.OPTIMIZER} <= {row.phase for row in rows(trace)}


def test_a_model_on_the_meta_device_is_taken_by_its_shapes() -> None:
    with torch.device("meta"):
        model = nn.Linear(1 << 16, 1 << 16)
    trace = trace_symbolic(_training(model, torch.empty(4, 1 << 16, device="meta")))
    assert names(trace).count("addmm") == 1 and bytes_of(trace, TensorRole.PARAMETER) == 4 * ((1 << 32) + (1 << 16))


def test_the_second_step_is_the_steady_state() -> None:
    found = names(trace_symbolic(_training(mlp(), torch.randn(4, 16), optimizer=torch.optim.AdamW)))
    assert "zeros_like" not in found and "_foreach_addcdiv_" in found


def test_inference_is_one_module_call() -> None:
    model = small_cnn().eval()

    def serve() -> None:
        with torch.no_grad():
            model(torch.randn(5, 3, 8, 8)).argmax(1)

    trace = trace_symbolic(serve)
    assert trace.step_source is StepSource.MODULE_CALL and trace.batch_size == 5
    assert names(trace, Phase.BACKWARD) == [] and names(trace).count("convolution") == 2


def test_a_program_of_many_steps_is_left_after_the_second() -> None:
    steps: list[int] = []

    def program() -> None:
        model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(1_000_000):
            try:
                optimizer.zero_grad()
                model(torch.randn(4, 16)).sum().backward()
                optimizer.step()
            except Exception:  # noqa: BLE001 # what programs do
                continue
            finally:
                steps.append(step)

    trace = trace_symbolic(program)
    assert trace.steps.number.tolist() == [2] and steps == []  # its list is a copy


# -- nothing of the user's changes -------------------------------------------------------------------------------------


def test_the_users_objects_and_the_random_states_stay_as_they_were() -> None:
    model, history = mlp(), [1.0]
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    scaler = torch.amp.GradScaler("cpu")
    loader = DataLoader(TensorDataset(torch.randn(16, 16)), batch_size=4, shuffle=True, generator=torch.Generator())
    counts = {"steps": 0}

    def program() -> None:
        nonlocal history
        for (x,) in loader:
            optimizer.zero_grad()
            loss = model(x + random.random() + float(np.random.rand())).sum()  # noqa: NPY002
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            history.append(loss)
            counts["steps"] += 1
            print("loss", loss.item(), f"{loss:.3f}")

    before = digest((model, optimizer, schedule, scaler, history, counts, loader.generator.get_state()))
    fakes = _fake_count()
    around = {name: digest(value) for name, value in surroundings().items()}
    said = io.StringIO()
    with redirect_stdout(said):
        trace = trace_symbolic(program)
    assert digest((model, optimizer, schedule, scaler, history, counts, loader.generator.get_state())) == before
    assert {name: digest(value) for name, value in surroundings().items()} == around
    assert all(parameter.grad is None for parameter in model.parameters())
    assert said.getvalue() == "" and names(trace, Phase.OPTIMIZER)
    del trace
    assert _fake_count() <= fakes


def _fake_count() -> int:
    gc.collect()
    return sum(type(thing) is FakeTensor for thing in gc.get_objects())


def _cell(source: str) -> Callable[[dict[str, Any]], None]:
    code = compile(source, "<ipython-input-7-abc>", "exec")
    return lambda names: exec(code, names)


def test_a_cell_runs_in_a_copy_of_the_namespace() -> None:
    earlier = types.ModuleType("__main__").__dict__
    exec(
        compile(
            "import torch\nfrom torch import nn\n"
            "model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))\n"
            "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
            "losses = []\n"
            "class Trainer:\n"
            "    def __init__(self): self.count = 0\n"
            "    def train(self, x):\n"
            "        self.count += 1\n"
            "        optimizer.zero_grad()\n"
            "        loss = model(x).sum()\n"
            "        loss.backward()\n"
            "        optimizer.step()\n"
            "        return loss\n"
            "trainer = Trainer()\n"
            "def train(x): return helper(x)\n"
            "def helper(x):\n"
            "    loss = trainer.train(x)\n"
            "    losses.append(loss)\n"
            "    return loss\n",
            "<ipython-input-3-abc>", "exec",
        ),
        earlier,
    )  # fmt: skip
    before = digest((earlier["model"], earlier["optimizer"]))
    observation = observe_symbolic(_cell("for _ in range(5):\n    last = train(torch.randn(4, 8))\n"), earlier)
    assert digest((earlier["model"], earlier["optimizer"])) == before
    assert "last" not in earlier and earlier["losses"] == [] and earlier["trainer"].count == 0
    products = [row for row in rows(observation.trace) if row.name == "aten::addmm"]
    assert len(products) == 2 and products[0].source is not None
    assert products[0].source.endswith(" > cell 3:11")
    assert observation.trace.batch_size == 4


def test_namespaces_and_dataclasses_of_earlier_cells_are_copied() -> None:
    earlier = types.ModuleType("__main__").__dict__
    exec(
        compile(
            "import argparse, dataclasses, types, torch\n"
            "model = torch.nn.Linear(4, 4)\n"
            "state = types.SimpleNamespace(model=model, steps=0)\n"
            "class Deeper(types.SimpleNamespace): pass\n"
            "deeper = Deeper(steps=0)\n"
            "args = argparse.Namespace(steps=0)\n"
            "@dataclasses.dataclass\n"
            "class Config:\n"
            "    steps: int = 0\n"
            "config = Config()\n",
            "<ipython-input-3-abc>", "exec",
        ),
        earlier,
    )  # fmt: skip
    cell = "for one in (state, deeper, args, config): one.steps += 1\nstate.model(torch.ones(2, 4)).sum().backward()\n"
    observation = observe_symbolic(_cell(cell), earlier)
    assert "addmm" in names(observation.trace)
    assert [earlier[name].steps for name in ("state", "deeper", "args", "config")] == [0, 0, 0, 0]
    assert earlier["model"].weight.grad is None


def test_copying_a_namespace_leaves_no_op_in_the_trace() -> None:
    earlier = {"torch": torch, "labels": torch.arange(6).view(2, 3).t(), "weights": torch.ones(3)}
    observation = observe_symbolic(_cell("torch.ones(2, 3) @ weights"), earlier)
    assert names(observation.trace) == ["ones", "mv"]


def test_a_cell_that_steps_once_is_executed_twice() -> None:
    model = nn.Linear(4, 4)
    earlier = {"torch": torch, "model": model, "optimizer": torch.optim.Adam(model.parameters())}
    observation = observe_symbolic(_cell("model(torch.ones(2, 4)).sum().backward()\noptimizer.step()\n"), earlier)
    assert observation.trace.steps.number.tolist() == [2] and "zeros_like" not in names(observation.trace)


def test_an_iterator_of_an_earlier_cell_is_not_consumed() -> None:
    earlier = {"torch": torch, "batches": (torch.ones(2) for _ in range(3))}
    with pytest.raises(CaptureError, match=r"iterator.*%%predict"):
        observe_symbolic(_cell("x = next(batches) + 1\n"), earlier)
    assert len(list(earlier["batches"])) == 3


def test_what_was_compiled_is_captured_uncompiled_and_said() -> None:
    model = torch.compile(mlp(), backend="eager")
    double = torch.compile(lambda x: x * 2, backend="eager")

    def program() -> None:
        double(model(torch.randn(4, 16))).sum()

    trace = trace_symbolic(program)
    assert names(trace).count("addmm") == 2 and any("torch.compile" in warning.seen for warning in trace.warnings)


def test_a_copy_of_a_model_is_a_copy_of_shapes() -> None:
    model = mlp()

    def program() -> None:
        average, tensor = copy.deepcopy(model), copy.deepcopy(torch.randn(3))
        again = copy.copy(tensor)
        average(torch.randn(2, 16)).sum().backward()
        assert again.shape == tensor.shape and all(parameter.grad is None for parameter in model.parameters())
        for mine, theirs in zip(average.parameters(), model.parameters(), strict=True):
            assert mine is not theirs and mine.shape == theirs.shape and mine.requires_grad
            mine.data.lerp_(theirs.data, 0.1)

    assert names(trace_symbolic(program)).count("lerp_") == 4


def test_calls_for_cuda_are_taken_as_the_cpus() -> None:
    def program() -> None:
        model = mlp().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 16, device="cuda")).sum().backward()
            optimizer.step()
            torch.cuda.synchronize()

    assert names(trace_symbolic(program)).count("addmm") == 2


# -- what depends on data ----------------------------------------------------------------------------------------------


def test_reading_a_loss_is_assumed_and_said_with_its_line() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(torch.randn(4, 16)).sum()
        loss.backward()
        optimizer.step()
        if torch.isnan(loss) or loss > 100:
            raise FloatingPointError
        print(f"{loss.item():.2f} {float(loss):.2f}", loss.tolist(), loss.detach().numpy())

    trace = trace_symbolic(step)
    seen = [warning.seen for warning in trace.warnings]
    assert any("numbers read from tensors are taken as 1 (test_symbolic.py:" in text for text in seen)
    assert any("numbers are taken as finite where that is checked" in text for text in seen)
    assert any("conditions on tensors are taken as false" in text for text in seen)
    assert "_local_scalar_dense" in names(trace)  # a GPU waits for it


def test_a_mask_of_unknown_values_takes_every_element() -> None:
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        out = model(torch.randn(4, 16))
        chosen = out[out > 0]
        (chosen.sum() + out.masked_select(out < 1).sum() + out[torch.nonzero(out)[:, 0]].sum()).backward()
        optimizer.step()

    trace = trace_symbolic(step)
    assert any("takes every element" in warning.seen for warning in trace.warnings)
    results = [row.results for row in rows(trace) if row.name == "aten::index"]
    assert ((64,),) in results and ((64, 16),) in results


def test_masks_and_counts_of_given_data_are_exact() -> None:
    model = nn.Linear(4, 4)
    labels = torch.tensor([0, 1, -100, 2])

    def step() -> None:
        out = model(torch.randn(4, 4))
        kept = out[labels != -100]
        assert kept.shape[0] == int((labels >= 0).sum()) == 3
        rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]
        assert rates == [0.0, 0.25, 0.5]
        kept.sum().backward()

    trace = trace_symbolic(step)
    assert not [warning for warning in trace.warnings if "without data" in warning.seen]


def test_given_data_is_not_changed_through_what_is_known_of_it() -> None:
    labels = torch.tensor([0, 1, 2])

    def step() -> None:
        labels.add_(5)
        labels[0] = 7
        assert labels.tolist() == [7, 6, 7]

    trace_symbolic(step)
    assert labels.tolist() == [0, 1, 2]


def test_a_value_mixed_with_an_unknown_one_is_unknown() -> None:
    def step() -> None:
        counts = torch.zeros(3)
        part = counts[:2]
        part.add_(torch.randn(2))
        assert counts.tolist() == [1, 1, 1]  # assumed

    trace = trace_symbolic(step)
    assert any("ones" in warning.seen for warning in trace.warnings)


def test_a_loop_that_waits_for_data_ends_with_the_line_and_the_remedy() -> None:
    def step() -> None:
        x = torch.randn(3)
        while not (x > 100).all():
            x = x * 2

    with pytest.raises(CaptureError, match=r"test_symbolic.py:\d+ waits for values.*%%predict"):
        trace_symbolic(step)


def test_what_fails_without_data_names_the_line_and_the_remedy() -> None:
    def step() -> None:
        sizes = torch.randn(3)
        torch.ones(2, 3).view(int(sizes[0].item() * 5), -1)

    with pytest.raises(
        CaptureError, match=r"test_symbolic.py:\d+: without data this fails with RuntimeError.*record"
    ) as caught:
        trace_symbolic(step)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_scripted_module_is_refused_with_the_remedy() -> None:
    with pytest.raises(CaptureError, match="scripted"):
        trace_symbolic(lambda model: model(torch.ones(2, 4)), _scripted())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def _scripted() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(nn.Linear(4, 4), torch.ones(2, 4))


@pytest.mark.parametrize("leave", [lambda: sys.exit("no GPU"), SystemExit, GeneratorExit])
def test_a_program_that_exits_is_refused_with_its_line(leave: Callable[[], Any]) -> None:
    def step() -> None:
        torch.ones(2) + 1
        raise leave()

    with pytest.raises(CaptureError, match=r"test_symbolic.py:\d+: without data this fails with .*Exit"):
        trace_symbolic(step)


def test_an_interrupt_of_the_users_is_not_taken_for_an_error() -> None:
    with pytest.raises(KeyboardInterrupt):
        trace_symbolic(_interrupted)
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def _interrupted() -> None:
    torch.ones(2) + 1
    raise KeyboardInterrupt


def test_a_lazy_module_is_refused_with_the_remedy_and_works_afterwards() -> None:
    kind = torch.nn.parameter.UninitializedParameter
    before = dict(vars(kind))
    with pytest.raises(CaptureError, match="name its sizes"):
        trace_symbolic(lambda made: made(torch.ones(2, 4)), build=lambda: nn.LazyLinear(3))
    lazy = nn.LazyLinear(3)
    with pytest.raises(CaptureError, match="call it once on a batch before"):
        trace_symbolic(lambda: lazy(torch.ones(2, 4)))
    assert dict(vars(kind)) == before
    assert lazy(torch.ones(2, 4)).shape == nn.LazyLinear(3)(torch.ones(2, 4)).shape == (2, 3)
    assert names(trace_symbolic(lambda: lazy(torch.ones(2, 4)))) == ["addmm"]


def test_a_step_without_ops_is_refused() -> None:
    with pytest.raises(CaptureError, match="no PyTorch op ran"):
        trace_symbolic(lambda: None)


def test_an_error_leaves_nothing_of_ours_behind() -> None:
    around = {name: digest(value) for name, value in surroundings().items()}
    with pytest.raises(CaptureError, match="own mistake"):
        trace_symbolic(_raising)
    assert {name: digest(value) for name, value in surroundings().items()} == around
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def _raising() -> None:
    torch.randn(3) + 1
    raise ValueError("own mistake")

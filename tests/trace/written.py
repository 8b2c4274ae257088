"""Small traces written by hand, as torch's profiler wrote them in each era: what every test here starts from.

One training step is the same in all eras: the loader waits, a convolution runs forward (its kernel launched inside), a
copy, the convolution's backward on autograd's thread, the optimizer. `STEP` says what a Trace must tell of it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PID, MAIN, AUTOGRAD, DEVICE, STREAM = 4711, 4711, 4799, 0, 7
EPOCH_US = 1_700_000_000_000_000
STEP_US = 1_000
STEP_KERNELS = 4  # forward, copy, backward, optimizer

DEVICE_PROPERTIES = [
    {
        "id": 0,
        "name": "Tesla V100-SXM2-16GB",
        "totalGlobalMem": 16_945_512_448,
        "computeMajor": 7,
        "computeMinor": 0,
        "numSms": 80,
    }
]


@dataclass(frozen=True)
class Era:
    """How a release wrote its events."""

    name: str
    op: str = "cpu_op"
    annotation: str = "user_annotation"
    call: str = "cuda_runtime"
    kernel: str = "kernel"
    memcpy: str = "gpu_memcpy"
    flow: str = "ac2g"
    external_id: str = "External id"
    decimals: int = 0
    base_us: int = EPOCH_US
    tid: Callable[[int], Any] = int
    stream_tid: Callable[[int], Any] = int
    external_id_is_correlation: bool = False
    launch: str = "cudaLaunchKernel"
    copy: str = "cudaMemcpyAsync"
    kernel_has_grid: bool = True
    python: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)


ERAS = {
    era.name: era
    for era in (
        Era(
            "torch 1.8",
            op="Operator",
            annotation="Operator",
            call="Runtime",
            kernel="Kernel",
            memcpy="Memcpy",
            flow="async",
            external_id="external id",
            tid=str,
            stream_tid=lambda stream: f"stream {stream}",
        ),
        Era("torch 1.11", call="Runtime", kernel="Kernel", memcpy="Memcpy", flow="async_gpu"),
        Era("torch 1.12", flow="async_cpu_to_gpu", external_id_is_correlation=True),
        Era("torch 2.0", python=True),
        Era("torch 2.3", decimals=3, metadata={"displayTimeUnit": "ms"}),
        Era(
            "torch 2.6",
            decimals=3,
            base_us=2_413_669_096_090,
            python=True,
            metadata={"baseTimeNanoseconds": 1_727_743_122_000_000_000, "cuda_runtime_version": 12040},
        ),
        Era("torch 2.14", decimals=3, base_us=5_118_289_748_312, metadata={"host_name": "lab-7", "trace_id": "A0"}),
        Era(
            "rocm 6.2",
            decimals=3,
            base_us=4_203_669_604_595,
            launch="hipLaunchKernel",
            copy="hipMemcpyWithStream",
            kernel_has_grid=False,
        ),
    )
}
TODAY = ERAS["torch 2.6"]


class Written:
    """Events of an era, appended one by one; times are microseconds from the start."""

    def __init__(self, era: Era = TODAY) -> None:
        self.era = era
        self.events: list[dict[str, Any]] = []
        self._next_id = 0
        self._next_correlation = 9_000

    # -- single events -------------------------------------------------------------------------------------------

    def time(self, us: float) -> Any:
        if not self.era.decimals:
            return self.era.base_us + int(us)
        whole, part = divmod(round(us * 1000), 1000)
        return Number(f"{self.era.base_us + whole}.{part:03d}")

    def event(
        self, category: str, name: str, us: float, dur: float, *, pid: Any = PID, tid: Any = MAIN, **args: Any
    ) -> None:
        duration: Any = int(dur) if not self.era.decimals else Number(f"{dur:.3f}")
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": self.time(us), "dur": duration}
            | ({"args": args} if args else {})
        )

    def op(self, name: str, us: float, dur: float, *, tid: int = MAIN, **args: Any) -> int:
        self._next_id += 1
        self.event(self.era.op, name, us, dur, tid=self.era.tid(tid), **{"External id": self._next_id}, **args)
        return self._next_id

    def annotation(self, name: str, us: float, dur: float, *, tid: int = MAIN, **args: Any) -> None:
        self._next_id += 1
        self.event(self.era.annotation, name, us, dur, tid=self.era.tid(tid), **{"External id": self._next_id}, **args)

    def call(self, name: str, us: float, dur: float, *, tid: int = MAIN, pid: int = PID, **args: Any) -> int:
        self._next_correlation += 1
        category = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else self.era.call
        self.event(category, name, us, dur, pid=pid, tid=self.era.tid(tid), correlation=self._next_correlation, **args)
        return self._next_correlation

    def kernel(
        self,
        name: str,
        us: float,
        dur: float,
        *,
        correlation: int,
        external_id: int = 0,
        category: str = "",
        device: int = DEVICE,
        stream: int = STREAM,
        **args: Any,
    ) -> None:
        if self.era.external_id_is_correlation:
            external_id = correlation
        ids = {self.era.external_id: external_id} if external_id else {}
        self.event(
            category or self.era.kernel,
            name,
            us,
            dur,
            pid=device,
            tid=self.era.stream_tid(stream),
            **ids,
            device=device,
            stream=stream,
            correlation=correlation,
            **args,
        )

    def launched(
        self, name: str, call_us: float, us: float, dur: float, *, tid: int = MAIN, external_id: int = 0, **args: Any
    ) -> int:
        """A launch call and its kernel."""
        shape = {"grid": [50, 2, 1], "block": [256, 1, 1]} | args
        own = {"registers per thread": 38, "shared memory": 512} if self.era.kernel_has_grid else {}
        on_call = {} if self.era.kernel_has_grid else shape | {"shared memory": 512}
        correlation = self.call(self.era.launch, call_us, 5, tid=tid, **on_call)
        flow = {"id": correlation, "cat": self.era.flow, "name": self.era.flow}
        self.events.append({"ph": "s", **flow, "pid": PID, "tid": tid, "ts": self.time(call_us)})
        self.events.append({"ph": "f", **flow, "pid": DEVICE, "tid": STREAM, "ts": self.time(us), "bp": "e"})
        own_shape = shape if self.era.kernel_has_grid else {}
        self.kernel(name, us, dur, correlation=correlation, external_id=external_id, **own_shape, **own)
        return correlation

    # -- one training step ---------------------------------------------------------------------------------------

    def step(self, number: int, us: float = 0.0, *, marks: bool = True) -> Written:
        """One training step of STEP_US from `us`."""
        if marks:
            self.annotation(f"ProfilerStep#{number}", us, STEP_US)
        self.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", us + 10, 80)
        sequence = {"Sequence number": 100 + number, "Fwd thread id": 0}
        shapes = {
            "Input Dims": [[32, 3, 8, 8], [16, 3, 3, 3], [], []],
            "Input type": ["float", "float", "", "Scalar"],
        }
        if self.era.python:
            self.event("python_function", "train.py(41): main", us + 1, STEP_US - 2)
            self.event("python_function", "nn.Module: Net_0", us + 100, 200)
            self.event("python_function", "torch/nn/modules/module.py(1501): _call_impl", us + 101, 198)
            self.event("python_function", "/home/someone/proj/model.py(9): forward", us + 102, 196)
            self.event("python_function", "nn.Module: Conv2d_0", us + 105, 190)
        else:
            installed = "/opt/lib/python3.8/site-packages/torch/nn/functional.py(9): conv2d"
            shapes |= {"Call stack": f"{installed};model.py(9): forward;train.py(41): main"}
        self.op("aten::conv2d", us + 110, 150, **sequence, **shapes)
        inner = self.op("aten::convolution", us + 115, 140, **sequence, **shapes)
        self.launched("volta_sgemm_128x64_nn", us + 120, us + 140, 200, external_id=inner)
        copy = self.op("aten::copy_", us + 320, 40)
        correlation = self.call(self.era.copy, us + 325, 10)
        self.kernel(
            "Memcpy HtoD (Pageable -> Device)",
            us + 345,
            20,
            correlation=correlation,
            external_id=copy,
            category=self.era.memcpy,
            bytes=4096,
        )
        node = {"Sequence number": 100 + number, "Fwd thread id": 1}
        if self.era.name != "torch 1.8":
            self.op("autograd::engine::evaluate_function: ConvolutionBackward0", us + 400, 100, tid=AUTOGRAD, **node)
        self.op("ConvolutionBackward0", us + 402, 96, tid=AUTOGRAD, **node)
        backward = self.op("aten::convolution_backward", us + 405, 90, tid=AUTOGRAD)
        self.launched("dgrad_engine<float>", us + 410, us + 430, 250, tid=AUTOGRAD, external_id=backward)
        self.annotation("Optimizer.step#SGD.step", us + 700, 100)
        add = self.op("aten::add_", us + 710, 30)
        self.launched("vectorized_elementwise_kernel<4>", us + 715, us + 730, 50, external_id=add)
        self.memory(us + 118, 131_072, allocated=1_000_000 + number)
        return self

    def steps(self, count: int, *, first: int = 5, marks: bool = True) -> Written:
        for index in range(count):
            self.step(first + index, us=index * STEP_US, marks=marks)
        return self

    def memory(self, us: float, delta: int, *, allocated: int) -> None:
        args = {"Device Type": 1, "Device Id": 0, "Bytes": delta}
        if self.era.name != "torch 1.8":
            args |= {"Total Allocated": allocated, "Total Reserved": 2 * allocated}
        self.events.append(
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": PID, "tid": MAIN}
            | {"ts": self.time(us), "args": args}
        )

    # -- the file ------------------------------------------------------------------------------------------------

    def document(self, **metadata: Any) -> dict[str, Any]:
        head = {"schemaVersion": 1, "deviceProperties": DEVICE_PROPERTIES} | self.era.metadata | metadata
        extra = [
            {"ph": "M", "name": "process_name", "pid": PID, "tid": 0, "ts": self.time(0), "args": {"name": "python"}},
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": self.time(10)},
        ]
        return head | {"traceEvents": self.events + extra, "traceName": "trace.json"}

    def text(self, **metadata: Any) -> bytes:
        return dumped(self.document(**metadata))

    def gzipped(self) -> bytes:
        return gzip.compress(self.text(), mtime=0)


class Number(float):
    """A number that is printed with the digits it was given."""

    def __new__(cls, printed: str) -> Number:
        number = super().__new__(cls, printed)
        number.printed = printed  # type: ignore[attr-defined]
        return number

    def __repr__(self) -> str:
        return self.printed  # type: ignore[attr-defined,no-any-return]


def dumped(document: Any, *, indent: int | None = None) -> bytes:
    """JSON text; Numbers keep their digits (json prints a float by float.__repr__, so they go through a mark)."""
    marked = _mark(document)
    text = json.dumps(marked, indent=indent, separators=None if indent else (",", ":"))
    return text.replace('"\\u0001', "").replace('\\u0001"', "").encode()


def _mark(value: Any) -> Any:
    if isinstance(value, Number):
        return f"\x01{value!r}\x01"
    if isinstance(value, dict):
        return {key: _mark(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mark(inner) for inner in value]
    return value

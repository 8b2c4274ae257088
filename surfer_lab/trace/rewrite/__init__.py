"""What would a captured step be if the program had been written a little differently? A Trace in, a Trace out.

- `Draft`: a capture's ops and storages as rows that can be changed, dropped and put in; back to a Trace.
- `to_one_float(trace, dtype)`: all floating tensors of one dtype, casts that are none any more dropped.
- `autocast(trace, dtype, rules=CUDA_AUTOCAST)`: the casts and dtypes that `torch.autocast` gives.
- `add_grad_scaler(trace)`: the ops of `torch.amp.GradScaler`.

Needs a capture that records which op reads and writes what (`Trace.uses`). Pure: no torch.
"""

from surfer_lab.trace.rewrite.autocast import autocast
from surfer_lab.trace.rewrite.autocast_lists import CPU_AUTOCAST, CUDA_AUTOCAST, AutocastRules, CastPolicy
from surfer_lab.trace.rewrite.draft import Draft, OpRow, StorageRow, Use
from surfer_lab.trace.rewrite.grad_scaler import add_grad_scaler, drop_grad_scaler
from surfer_lab.trace.rewrite.one_float import floats_of, to_one_float

__all__ = [
    "CPU_AUTOCAST", "CUDA_AUTOCAST", "AutocastRules", "CastPolicy", "Draft", "OpRow", "StorageRow", "Use",
    "add_grad_scaler", "autocast", "drop_grad_scaler", "floats_of", "to_one_float",
]  # fmt: skip

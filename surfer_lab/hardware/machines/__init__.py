"""machines: nodes of GPUs, what connects them, and how fast that was seen to be.

    load_machines().find("DGX A100").link_for(8)

`Machine` and `Link` are records, `load_machines` reads the bundled rows and the user's own, `of_gpu` puts a machine
together for any GPU, `links.fitted` makes a link from measured all-reduces.
"""

from surfer_lab.hardware.machines.catalog import Machines, load_machines, machine_from_file, save_measured_link
from surfer_lab.hardware.machines.link import Link, LinkKind
from surfer_lab.hardware.machines.machine import Machine
from surfer_lab.hardware.machines.measured import AllReduceSample, fitted_link, nccl_tests_samples

__all__ = [
    "AllReduceSample", "Link", "LinkKind", "Machine", "Machines", "fitted_link", "load_machines", "machine_from_file",
    "nccl_tests_samples", "save_measured_link",
]  # fmt: skip

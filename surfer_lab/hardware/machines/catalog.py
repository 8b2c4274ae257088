"""Which machines and links are known, and which is meant by a name, a file or a GPU?

Opens links.csv and machines.csv beside the GPUs' data, and `machines/*.toml` and `links.json` of the user's
configuration folder. A user's row:

    name = "my box"
    gpu = "RTX 3090"
    gpus_per_node = 4
    links = ["NVLink 3 bridge (RTX 3090)", "PCIe 4 switch"]     # names of known links, or tables of a link's fields

A broken file of the user's becomes a line of `warnings`; a file named by hand raises GpuError naming the field.
"""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from surfer_lab.errors import GpuError, OptionError
from surfer_lab.hardware.cards import DATA_FOLDER
from surfer_lab.hardware.configuration import configuration_folder, parse_toml, read_text, write_text
from surfer_lab.hardware.gpu import Gpu, Vendor
from surfer_lab.hardware.machines.link import Link, LinkKind
from surfer_lab.hardware.machines.machine import Machine
from surfer_lab.hardware.naming import compact
from surfer_lab.units import BYTES_PER_GB, NS_PER_US

__all__ = ["Machines", "load_machines", "machine_from_file", "save_measured_link"]

MACHINES_FOLDER: Final = "machines"
LINKS_FILE: Final = "links.json"
_USUAL_GPUS: Final = 8  # of a machine put together for a GPU that no known machine has
_USUAL_NODES: Final = 128
_FEWEST_GPUS: Final = 4  # of a known machine that is taken for a GPU: a desktop of two answers few questions
_PCIE: Final = {3: "PCIe 3 through CPU", 4: "PCIe 4 through CPU", 5: "PCIe 5 through CPU", 6: "PCIe 5 through CPU"}
# NVLink of a GPU by its rate in one direction, GB/s, where the cards plug into a board with switches, and where not
_BOARD_LINKS: Final = {
    80: "NVLink 1 mesh (DGX-1 P100)", 150: "NVLink 2 switch (DGX-2)", 200: "NVLink 4 switch (H800)",
    300: "NVLink 3 switch (A100)", 450: "NVLink 4 switch (H100)", 900: "NVLink 5 switch (B200)",
}  # fmt: skip
_BRIDGES: Final = {50: "NVLink 2 bridge (Turing)", 56: "NVLink 3 bridge (RTX 3090)"}
_CARD_BRIDGES: Final = {"A100": "NVLink 3 bridge (A100 PCIe)", "H100": "NVLink 4 bridge (H100 PCIe)"}
_LINK_FIELDS: Final = (
    "name", "kind", "rated_gb_per_s", "achieved_fraction", "hop_latency_us", "start_latency_us", "channels",
    "group_count", "source",
)  # fmt: skip
_MACHINE_FIELDS: Final = (
    "name", "gpu", "gpus_per_node", "links", "network", "cpu", "cpu_core_count", "host_memory_gb", "most_nodes",
    "source", "aliases",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The known machines and links, the user's own first."""

    machines: tuple[Machine, ...]
    links: tuple[Link, ...]
    warnings: tuple[str, ...] = ()

    def find(self, name: str) -> Machine:
        """By name or alias, whatever its spelling of spaces and case; OptionError with near names.

        >>> load_machines().find("dgx-1").gpu
        'V100 SXM2 16GB'
        """
        found: Machine = _named(name, self.machines, "machine")
        return found

    def link(self, name: str) -> Link:
        """A link by name; OptionError with near names."""
        kinds = (LinkKind.NVLINK.value, LinkKind.PCIE.value)  # good wherever a person names a link
        found: Link = _named(name, self.links, "link", also=kinds)
        return found

    def of_gpu(self, gpu: Gpu, link: str | None = None) -> Machine:
        """A machine with this GPU: the first known one, or 8 of them as such cards are usually connected.

        `link` is "nvlink", "pcie" or a link's name; OptionError where this GPU has no such link.
        """
        known = [one for one in self.machines if one.gpu == gpu.name and one.gpus_per_node >= _FEWEST_GPUS]
        if link is None:
            return known[0] if known else self._usual(gpu)
        kind = {LinkKind.NVLINK.value: LinkKind.NVLINK, LinkKind.PCIE.value: LinkKind.PCIE}.get(link.strip().lower())
        if kind is None:
            machine = known[0] if known else self._usual(gpu)
            return machine.with_link(self.link(link))
        wanted = (kind, LinkKind.FABRIC) if kind is LinkKind.NVLINK else (kind,)
        for machine in known:
            if machine.links and machine.links[0].kind in wanted:
                return machine
        chosen = self._board_link(gpu) if kind is LinkKind.NVLINK else self._pcie(gpu)
        if chosen is None:
            raise OptionError(f"{gpu.name} has no NVLink", remedy="--link pcie")
        machine = self._usual(gpu)
        links = (chosen,) if chosen.group_count >= machine.gpus_per_node else (chosen, self._pcie(gpu))
        name = f"{machine.gpus_per_node} x {gpu.name}, {chosen.name}"
        return Machine(**{**vars(machine), "name": name, "links": links})

    def _usual(self, gpu: Gpu) -> Machine:
        chosen, pcie = self._board_link(gpu), self._pcie(gpu)
        links = (pcie,) if chosen is None else (chosen,) if chosen.group_count >= _USUAL_GPUS else (chosen, pcie)
        return Machine(
            name=f"{_USUAL_GPUS} x {gpu.name}, {links[0].name}",
            gpu=gpu.name,
            gpus_per_node=_USUAL_GPUS,
            links=links,
            network=self.link("InfiniBand HDR x4"),
            most_nodes=_USUAL_NODES,
            source="put together: such cards as they are usually connected",
        )

    def _pcie(self, gpu: Gpu) -> Link:
        return self.link(_PCIE.get(gpu.pcie_generation or 4, _PCIE[4]))

    def _board_link(self, gpu: Gpu) -> Link | None:
        """What a GPU's own NVLink or fabric is usually wired to; None where it has none."""
        if not gpu.nvlink_bytes_per_s:
            return None
        one_way = round(gpu.nvlink_bytes_per_s / BYTES_PER_GB)
        if gpu.vendor is Vendor.AMD:
            return self.link("Infinity Fabric mesh (MI300X)")
        if "PCIe" in gpu.name or "NVL" in gpu.name.split():
            return self.link(next((name for card, name in _CARD_BRIDGES.items() if card in gpu.name), _BRIDGES[56]))
        name = _BOARD_LINKS.get(one_way) or _BRIDGES.get(one_way)
        return self.link(name) if name is not None else None


def load_machines(folder: Path | None = None) -> Machines:
    """The bundled machines and links with the user's own before them."""
    where = folder or configuration_folder()
    warnings: list[str] = []
    links = [*_own_links(where / LINKS_FILE, warnings), *_bundled_links()]
    own = [
        machine
        for path in sorted((where / MACHINES_FOLDER).glob("*.toml"))
        if (machine := _or_warning(partial(machine_from_file, path, links), warnings)) is not None
    ]
    return Machines(machines=(*own, *_bundled_machines()), links=tuple(links), warnings=tuple(warnings))


def machine_from_file(path: Path, links: Sequence[Link] | None = None) -> Machine:
    """A machine from a TOML row; GpuError names the field of a mistake."""
    return machine_from_row(parse_toml(read_text(path), str(path)), links or _bundled_links(), where=str(path))


def machine_from_row(row: Mapping[str, Any], links: Sequence[Link], *, where: str) -> Machine:
    """A machine from a row of fields, as a TOML file or a dict has them."""
    _check_fields(row, _MACHINE_FIELDS, ("name", "gpu", "gpus_per_node"), where)
    given = row.get("links", [])
    listed = [given] if isinstance(given, str | Mapping) else list(given)
    network = row.get("network")
    return Machine(
        name=str(row["name"]),
        gpu=str(row["gpu"]),
        gpus_per_node=_whole(row["gpus_per_node"], "gpus_per_node", where),
        links=tuple(_link_of(one, links, where) for one in listed),
        network=None if network in (None, "") else _link_of(network, links, where),
        most_nodes=_whole(row.get("most_nodes", _USUAL_NODES), "most_nodes", where),
        cpu=str(row.get("cpu", "")),
        cpu_core_count=_whole(row["cpu_core_count"], "cpu_core_count", where) if row.get("cpu_core_count") else None,
        host_memory_bytes=int(float(row["host_memory_gb"]) * BYTES_PER_GB) if row.get("host_memory_gb") else None,
        aliases=tuple(row.get("aliases", ())),
        source=str(row.get("source") or f"the user's own, {Path(where).name}"),
    )


def save_measured_link(link: Link, folder: Path | None = None) -> Path:
    """Keep a measured link under its name, for `--link NAME`; the path of the file."""
    path = (folder or configuration_folder()) / LINKS_FILE
    kept = [one for one in _own_links(path, []) if one.name != link.name]
    write_text(path, json.dumps([_link_row(one) for one in (*kept, link)], indent=1, ensure_ascii=False) + "\n")
    return path


def _named(name: str, known: Sequence[Any], what: str, also: Sequence[str] = ()) -> Any:
    """The one of this name, alias or only match; OptionError names `also`, which is as good, and near names."""
    wanted = compact(name)
    for one in known:
        if wanted in {compact(text) for text in (one.name, *getattr(one, "aliases", ()))}:
            return one
    names = [one.name for one in known]
    containing = [one for one in names if wanted and wanted in compact(one)]
    if len(containing) == 1:
        return next(one for one in known if one.name == containing[0])
    near = containing[:4] or difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:4]
    raise OptionError(f"no {what} is called {name!r}", remedy=" or ".join([*also, *near]))


def _or_warning(read: Callable[[], Machine], warnings: list[str]) -> Machine | None:
    try:
        return read()
    except GpuError as error:
        warnings.append(f"a machine of yours is left out: {error}")
        return None


@cache
def _bundled_links() -> tuple[Link, ...]:
    return tuple(link_from_row(row, where=f"links.csv, {row['name']}") for row in _rows("links.csv"))


@cache
def _bundled_machines() -> tuple[Machine, ...]:
    return tuple(
        machine_from_row(
            {
                **{key: value for key, value in row.items() if value},
                "links": row["links"].split(";"),
                "aliases": tuple(filter(None, row["aliases"].split(";"))),
            },
            _bundled_links(),
            where=f"machines.csv, {row['name']}",
        )
        for row in _rows("machines.csv")
    )


def _rows(file: str) -> list[dict[str, str]]:
    with (DATA_FOLDER / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _own_links(path: Path, warnings: list[str]) -> list[Link]:
    if not path.exists():
        return []
    try:
        rows = json.loads(read_text(path))
        return [link_from_row(row, where=f"{path}, link {number}") for number, row in enumerate(rows, start=1)]
    except (GpuError, json.JSONDecodeError, TypeError, AttributeError) as error:
        warnings.append(f"your measured links are left out: {error}")
        return []


def _link_of(given: Any, links: Sequence[Link], where: str) -> Link:
    if isinstance(given, Mapping):
        return link_from_row({"name": "own link", **given}, where=where)
    try:
        found: Link = _named(str(given), links, "link")
    except OptionError as error:
        raise GpuError(f"{where}: {error.seen}", remedy=error.remedy) from error
    return found


def link_from_row(row: Mapping[str, Any], *, where: str) -> Link:
    """A link from a row of fields; GpuError names the field of a mistake."""
    extra = ("fraction_is_measured", "rated_by_count")
    _check_fields(row, (*_LINK_FIELDS, *extra), ("name", "rated_gb_per_s"), where)
    kinds = {kind.value: kind for kind in LinkKind}
    kind = str(row.get("kind", LinkKind.MEASURED.value))
    if kind not in kinds:
        raise GpuError(f"{where}: kind is {kind!r}", remedy=f"one of {', '.join(kinds)}")

    def number(name: str, absent: float) -> float:
        return _number(row.get(name, absent), name, where)

    by_count = dict(part.split(":") for part in str(row.get("rated_by_count") or "").split(";") if part)
    return Link(
        name=str(row["name"]),
        kind=kinds[kind],
        rated_bytes_per_s=number("rated_gb_per_s", 0.0) * BYTES_PER_GB,
        achieved_fraction=number("achieved_fraction", 1.0),
        fraction_is_measured=str(row.get("fraction_is_measured", "yes")) == "yes",
        hop_latency_ns=number("hop_latency_us", 5.0) * NS_PER_US,
        start_latency_ns=number("start_latency_us", 0.0) * NS_PER_US,
        group_count=int(number("group_count", 1024)),
        channel_count=int(number("channels", 0)),
        rated_by_count={
            int(count): _number(rate, "rated_by_count", where) * BYTES_PER_GB for count, rate in by_count.items()
        },
        source=str(row.get("source", "the user's own")),
    )


def _link_row(link: Link) -> dict[str, Any]:
    return {
        "name": link.name, "kind": link.kind.value, "rated_gb_per_s": link.rated_bytes_per_s / BYTES_PER_GB,
        "achieved_fraction": link.achieved_fraction, "hop_latency_us": link.hop_latency_ns / NS_PER_US,
        "start_latency_us": link.start_latency_ns / NS_PER_US, "channels": link.channel_count,
        "group_count": link.group_count, "source": link.source,
    }  # fmt: skip


def _check_fields(row: Mapping[str, Any], known: Iterable[str], needed: Iterable[str], where: str) -> None:
    for name in needed:
        if row.get(name) in (None, ""):
            raise GpuError(f"{where} has no {name}", remedy=f"{name} = ...; fields: {', '.join(known)}")
    for name in row:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=1) or list(known)
            raise GpuError(f"{where} has a field {name!r}", remedy=f"{', '.join(near)}")


def _number(value: Any, name: str, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise GpuError(f"{where}: {name} is {value!r}", remedy="a number of 0 or more")
    return number


def _whole(value: Any, name: str, where: str) -> int:
    number = _number(value, name, where)
    if number != int(number):
        raise GpuError(f"{where}: {name} is {value!r}", remedy="a whole number")
    return int(number)

"""Which GPUs are known, and which of them is meant by a name or by what a recording says of its device?

`load_catalog()` gives the catalogue's cards plus the user's own rows, calibrations applied; it is read once and again
only when a file of the user's changed. A broken file of the user's becomes a line of `warnings`, the rest stays usable.

`find` weighs names (see `naming`) against the device's facts: the candidates of the first tier that the facts do not
contradict; if one is left it is meant. Several: UnknownGpuError listing them. None, but the facts suffice: a card put
together from them, marked `estimated` (see `estimated`). A name printed by drivers for lack of a better one ("AMD
Radeon Graphics") says nothing: facts alone decide, and among equals the card that lists the name. Otherwise the error
says what to give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from surfer_lab.errors import GpuError, UnknownGpuError
from surfer_lab.hardware.calibrations import Calibration, load_calibrations
from surfer_lab.hardware.cards import BANDWIDTH, Card, Measurement, read_cards, read_measurements, read_spellings
from surfer_lab.hardware.configuration import configuration_folder, parse_toml, read_text, state_of, write_text
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.estimated import DeviceFacts, newcomer, variant
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin
from surfer_lab.hardware.limits import limits_of
from surfer_lab.hardware.naming import GENERIC_NAMES, Names, compact
from surfer_lab.hardware.sustained import Sustained
from surfer_lab.hardware.user_cards import card_from_row, row_text
from surfer_lab.units import BYTES_PER_GB, BYTES_PER_MB, FLOPS_PER_TFLOPS, HZ_PER_MHZ

__all__ = ["Catalog", "RecordedFacts", "add_gpu", "load_catalog"]

GPUS_FOLDER: Final = "gpus"
MIG_SUFFIX: Final = re.compile(r"\s+MIG\b")  # "NVIDIA A100-SXM4-40GB MIG 3g.20gb": an instance of that card
ALL: Final = "all"
LIST_REMEDY: Final = "`surfer gpus` lists all"
ROW_REMEDY: Final = (
    "a row of its own (name, compute_capability, sm_count, memory_gb, bandwidth_gb_per_s, fp32_tflops) in "
    f"{GPUS_FOLDER}/NAME.toml of the configuration folder or by add_gpu({{...}}); {LIST_REMEDY}"
)


class RecordedFacts(Protocol):
    """What a recording says of its device: trace.model.RecordedDevice, or anything shaped like it."""

    @property
    def name(self) -> str | None: ...
    @property
    def sm_count(self) -> int | None: ...
    @property
    def memory_bytes(self) -> int | None: ...
    @property
    def compute_capability(self) -> str | None: ...


class Catalog:
    """The known GPUs. Immutable; made by `load_catalog`."""

    def __init__(
        self,
        cards: Sequence[Card],
        measurements: Iterable[Measurement],
        calibrations: Iterable[Calibration] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        self._cards = tuple(cards)
        self._sustained = Sustained(self._cards, measurements)
        self._calibrations: dict[str, dict[str, Calibration]] = {}
        for one in calibrations:
            self._calibrations.setdefault(compact(one.gpu), {})[one.quantity] = one
        self._gpus = {card.name: self._gpu(card) for card in self._cards}
        self.warnings = tuple(warnings)

    def __len__(self) -> int:
        return len(self._gpus)

    def all(self) -> tuple[Gpu, ...]:
        """Every GPU, the user's own first, then in the catalogue's order."""
        return tuple(self._gpus.values())

    def find(
        self,
        name: str | None,
        *,
        sm_count: int | None = None,
        memory_bytes: int | None = None,
        compute_capability: str | None = None,
    ) -> Gpu:
        """The one GPU meant; UnknownGpuError with candidates and the remedy where none or several fit.

        >>> load_catalog().find("3090").name, load_catalog().find("Tesla V100-DGXS-32GB").name
        ('RTX 3090', 'V100 SXM2 32GB')
        """
        facts = DeviceFacts(
            sm_count=sm_count if sm_count is not None and sm_count > 0 else None,
            memory_bytes=memory_bytes if memory_bytes is not None and memory_bytes > 0 else None,
            compute_capability=compute_capability or None,
        )
        text = (name or "").strip()
        if not compact(text) or compact(text) in GENERIC_NAMES:
            return self._by_facts(text, facts)
        model = MIG_SUFFIX.split(text)[0]
        named = self._names.exact(model) or self._names.containing(model)
        for candidates in (
            self._names.exact(model),
            self._names.containing(model),
            self._names.hinted(model) if facts else [],
        ):
            fitting = [card for card in candidates if facts.fit(card)]
            if len(fitting) == 1:
                return self._gpus[fitting[0].name]
            if fitting:
                raise _ambiguous(text, fitting, facts)
        return self._outside(text, facts, named)

    def find_device(self, device: RecordedFacts) -> Gpu:
        """The GPU a recording ran on."""
        return self.find(
            device.name,
            sm_count=device.sm_count,
            memory_bytes=device.memory_bytes,
            compute_capability=device.compute_capability,
        )

    def select(self, names: str | Iterable[str]) -> tuple[Gpu, ...]:
        """GPUs of a list such as "a100 sxm4 80gb,t4" or ["all"], each once, in the order asked."""
        listed = names.split(",") if isinstance(names, str) else list(names)
        chosen: dict[str, Gpu] = {}
        for one in listed:
            found = self.all() if one.strip().lower() == ALL else (self.find(one),)
            chosen |= {gpu.name: gpu for gpu in found}
        return tuple(chosen.values())

    def find_spelling(self, where: str, name: str) -> Gpu | None:
        """The GPU that the measured data `where` ("timm", "kernels e2e", ...) spell so; None: outside the catalogue."""
        spelling = self._spellings.get((where, name))
        if spelling is None:
            raise UnknownGpuError(
                f"{where!r} has no GPU spelled {name!r}",
                candidates=[spelled for source, spelled in self._spellings if source == where],
                remedy="a name of the catalogue",
            )
        return self._gpus[spelling] if spelling else None

    def card(self, gpu: Gpu | str) -> Card:
        """The stated facts behind a GPU of this catalogue, in data-sheet units, with a source by field."""
        wanted = gpu if isinstance(gpu, str) else gpu.name
        for card in self._cards:
            if card.name == wanted:
                return card
        raise UnknownGpuError(f"{wanted!r} is no GPU of the catalogue", remedy=ROW_REMEDY)

    @cached_property
    def _names(self) -> Names:
        return Names(self._cards)

    @cached_property
    def _spellings(self) -> Mapping[tuple[str, str], str]:
        return {(row.where, row.name): row.gpu for row in read_spellings()}

    def _by_facts(self, name: str, facts: DeviceFacts) -> Gpu:
        if facts.sm_count is None:
            raise UnknownGpuError(
                f"the recording names no GPU that can be told ({name!r})" if name else "the recording names no GPU",
                remedy="name it: --from GPU",
            )
        fitting = [card for card in self._cards if facts.fit(card)]
        if len(fitting) > 1:
            named = [card for card in fitting if any(compact(alias) == compact(name) for alias in card.aliases)]
            fitting = named if len(named) == 1 else fitting
        if len(fitting) == 1:
            return self._gpus[fitting[0].name]
        if fitting:
            raise _ambiguous(name, fitting, facts)
        return self._outside(name, facts, ())

    def _outside(self, name: str, facts: DeviceFacts, named: Sequence[Card]) -> Gpu:
        """A card put together from facts; the error where they do not suffice."""
        made = None
        if facts:
            made = variant(named[0], facts, name) if len(named) == 1 else None
            made = made or newcomer(name, facts, self._cards)
        if made is not None:
            return self._gpu(made)
        near = [card.name for card in named] or self._names.near(name)
        seen = f"{name!r}{f' with {facts.words()}' if facts else ''} is no GPU of the catalogue"
        remedy = f"{' or '.join(near)} ({LIST_REMEDY})" if near and not facts else ROW_REMEDY
        raise UnknownGpuError(seen, candidates=near, remedy=remedy)

    def _gpu(self, card: Card) -> Gpu:
        calibrated = self._calibrations.get(compact(card.name), {})
        rates = self._sustained.arithmetic(card)
        for quantity, one in calibrated.items():
            if quantity != BANDWIDTH:
                rates[RateClass(quantity)] = _calibrated(one)
        bandwidth = calibrated.get(BANDWIDTH)
        peak_fp32 = card.peak_tflops[RateClass.FP32] * FLOPS_PER_TFLOPS
        links = card.nvlink_gb_per_s_both_ways
        return Gpu(
            name=card.name,
            aliases=card.aliases,
            vendor=card.vendor,
            architecture=card.architecture,
            compute_capability=card.compute_capability,
            sm_count=card.sm_count,
            fp32_lanes_per_sm=card.fp32_lanes_per_sm,
            # where no clock is stated: the one at which all lanes give the stated fp32 rate
            clock_hz=(
                peak_fp32 / (2 * card.sm_count * card.fp32_lanes_per_sm)
                if card.clock_mhz is None
                else card.clock_mhz * HZ_PER_MHZ
            ),
            memory_bytes=round(card.memory_gb * BYTES_PER_GB),
            bandwidth_bytes_per_s=card.bandwidth_gb_per_s * BYTES_PER_GB,
            l2_bytes=None if card.l2_mb is None else round(card.l2_mb * BYTES_PER_MB),
            tdp_w=card.tdp_w,
            peak_flop_per_s={rate: tflops * FLOPS_PER_TFLOPS for rate, tflops in card.peak_tflops.items()},
            sustained=rates,
            sustained_bandwidth=self._sustained.bandwidth(card) if bandwidth is None else _calibrated(bandwidth),
            nvlink_bytes_per_s=None if links is None else links / 2 * BYTES_PER_GB,
            pcie_generation=card.pcie_generation,
            release_year=card.release_year,
            limits=limits_of(card.compute_capability),
            die=card.die,
            source=card.source,
            notes=card.notes,
            user_defined=card.user_defined,
            estimated=card.estimated,
        )


class _Session:
    """What this process holds: rows added without saving, and the catalogue last made."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, object]] = {}
        self.made_from: object = None
        self.catalog: Catalog | None = None


_SESSION: Final = _Session()


def load_catalog() -> Catalog:
    """The catalogue with the user's rows and calibrations; the same object until one of them changes."""
    folder = configuration_folder()
    state = (str(folder), state_of(folder), tuple(map(id, _SESSION.rows.values())))
    if _SESSION.catalog is None or _SESSION.made_from != state:
        _SESSION.catalog = _make(folder)
        _SESSION.made_from = state
    return _SESSION.catalog


def add_gpu(row: Mapping[str, object] | str | Path, *, save: bool = False) -> Gpu:
    """Add a GPU for this session, or for good; the row is a dict, TOML text or the path of a TOML file.

    GpuError names the field where the row is not sound. A name that is already known is replaced.
    """
    if isinstance(row, Path):
        row = parse_toml(read_text(row), str(row))
    elif isinstance(row, str):
        row = parse_toml(row, "the GPU's row")
    fields = dict(row)
    card, _ = card_from_row(fields, read_cards())
    if save:
        write_text(configuration_folder() / GPUS_FOLDER / f"{compact(card.name)}.toml", row_text(fields))
        _SESSION.rows.pop(card.name, None)
    else:
        _SESSION.rows[card.name] = fields
    return load_catalog().find(card.name)


def _make(folder: Path) -> Catalog:
    stock = read_cards()
    warnings: list[str] = []
    own: dict[str, tuple[Card, tuple[Measurement, ...]]] = {}
    for path in sorted((folder / GPUS_FOLDER).glob("*.toml")):
        try:
            card, measured = card_from_row(parse_toml(read_text(path), str(path)), stock, str(path))
            own[card.name] = card, measured
        except GpuError as error:
            warnings.append(f"a GPU of yours is left out: {error}")
    for fields in _SESSION.rows.values():
        card, measured = card_from_row(fields, stock)
        own[card.name] = card, measured
    calibrations: tuple[Calibration, ...] = ()
    try:
        calibrations = load_calibrations(folder)
    except GpuError as error:
        warnings.append(f"your calibrations are left out: {error}")
    cards = [card for card, _ in own.values()] + [card for card in stock if card.name not in own]
    measurements = [row for row in read_measurements() if row.gpu not in own]
    measurements += [row for _, measured in own.values() for row in measured]
    return Catalog(cards, measurements, calibrations, warnings)


def _calibrated(one: Calibration) -> Rate:
    return Rate(
        per_s=one.value_per_s, origin=RateOrigin.CALIBRATED, source=f"surfer calibrate, {one.measured_on}: {one.how}"
    )


def _ambiguous(name: str, candidates: Sequence[Card], facts: DeviceFacts) -> UnknownGpuError:
    names = [card.name for card in candidates]
    known = f" with {facts.words()}" if facts else ""
    asked = repr(name) if name else "the device"
    return UnknownGpuError(
        f"{asked}{known} can be {', '.join(names[:-1])} or {names[-1]}", candidates=names, remedy="name one of them"
    )

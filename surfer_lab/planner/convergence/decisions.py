"""What did the optimizer decide, and why? A log of sentences with the facts they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from surfer_lab.planner.convergence.setting import Setting

__all__ = ["Decision", "DecisionKind"]


class DecisionKind(Enum):
    """The value is how it is worded."""

    COLD_START = "cold start"
    MEASURED = "measured"
    PROPOSED = "proposed"
    TRIAL = "trial"
    SKIPPED = "skipped"
    CAPPED = "budget spent"
    HALVED = "fewer groups"
    CHOSEN = "chosen"
    TRAINED = "trained"
    BACKED_OFF = "backed off"
    RESUMED = "resumed"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One step of the search, `at_s` after its begin; loss None where none was measured."""

    kind: DecisionKind
    at_s: float
    reason: str
    setting: Setting | None = None
    loss: float | None = None

    @property
    def words(self) -> str:
        """One line."""
        setting = f" {self.setting.words}:" if self.setting is not None else ""
        return f"{self.at_s:7.1f} s  {self.kind.value}:{setting} {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {**asdict(self), "kind": self.kind.name}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Decision:
        """From a checkpoint."""
        setting = kept["setting"]
        return cls(
            kind=DecisionKind[kept["kind"]],
            at_s=float(kept["at_s"]),
            reason=str(kept["reason"]),
            setting=None if setting is None else Setting(**setting),
            loss=kept["loss"],
        )

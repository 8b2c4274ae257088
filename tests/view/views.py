"""Views of hand-made predictions, for the tests of view, report and hosts."""

from __future__ import annotations

from surfer_lab.planner.outcome import Scenario, outcomes
from surfer_lab.view.build import view_of
from surfer_lab.view.model import ViewModel
from tests.planner.predictions import gpu, prediction, trace
from tests.planner.test_outcome import price

V100 = gpu("V100 SXM2 16GB", memory_gb=16, aliases=("Tesla V100-SXM2-16GB",))
FAST = gpu("Fast 80GB", memory_gb=80, year=2024)
CHEAP = gpu("Cheap 24GB", memory_gb=24, year=2023)
PRICES = {"V100 SXM2 16GB": 1.2, "Fast 80GB": 4.0, "Cheap 24GB": 0.5}


def view(
    recorded=None,
    *,
    speeds=((V100, 1.0), (FAST, 4.0), (CHEAP, 0.9)),
    batch_size=32,
    dataset_size=None,
    name="resnet",
    **changes,
) -> ViewModel:
    """A trace on a V100, predicted on a fast and a cheap card too."""
    recorded = trace() if recorded is None else recorded
    options = {"waits": (0.3, 0.0, 0.0, 0.0), "origin": V100, **changes}
    shown = {key: options.pop(key) for key in ("shows_all", "focus") if key in options}
    predicted = prediction(recorded, list(speeds), **options)
    scenarios = [
        Scenario(
            gpu=card,
            batch_size=batch_size,
            dataset_size=dataset_size,
            price=price(PRICES[card.name]) if card.name in PRICES else None,
        )
        for card, _ in speeds
    ]
    return view_of(
        predicted,
        outcomes(predicted, scenarios),
        name=name,
        command="surfer predict trace.json",
        version="0.1.0",
        **shown,
    )

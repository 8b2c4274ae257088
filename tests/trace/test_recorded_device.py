"""Does the recorded device carry only what can be saved?"""

from __future__ import annotations

from surfer_lab.trace.recorded_device import recorded_device


def test_half_a_surrogate_pair_in_a_devices_name_is_replaced() -> None:
    device = recorded_device([{"id": 0, "name": "T\ud8004"}], 0)
    assert device is not None
    assert device.name == "T?4"

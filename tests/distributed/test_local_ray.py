"""What is said where a Ray cluster does not answer, or does not let one in?"""

from __future__ import annotations

import pytest

from surfer_lab.errors import OptionError

ray = pytest.importorskip("ray")


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            ray.exceptions.RayError("unauthenticated"),
            "does not let this process in (RayError). Try: the cluster's token",
        ),
        (ConnectionError("nobody"), "no Ray cluster answers at 10.0.0.1:6379 (ConnectionError). Try: ray start --head"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_one_sentence_with_its_remedy(monkeypatch, refusal, said):
    from surfer_lab.distributed.local_ray import connect

    def refuse(**words):
        raise refusal

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(OptionError) as raised:
        connect("10.0.0.1:6379", workers=2)
    assert said in str(raised.value)

"""Workloads are found by name, importing them is free, and a wrong name says which is near."""

from __future__ import annotations

import subprocess
import sys

import pytest

from surfer_lab import workloads
from surfer_lab.errors import OptionError


def test_importing_the_package_loads_no_torch() -> None:
    code = "import sys, surfer_lab.workloads as w; w.names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_models_of_the_three_papers_are_there() -> None:
    first = {"resnet50", "inception_v3", "transformer", "gnmt", "dcgan"}
    second = {"ssd300", "mask_rcnn", "ncf", "bert_large", "dlrm", "gpt2"}
    third = {"caffenet", "lenet"}
    assert first | second | third <= set(workloads.names())


@pytest.mark.parametrize("name", workloads.names())
def test_the_name_is_a_factory_of_the_package_and_of_what_it_builds(name: str) -> None:
    work = getattr(workloads, name)(device="meta")
    assert work.name == name
    assert work.default_batch_size >= 1
    assert work.sample_unit
    assert work.paper


@pytest.mark.parametrize("name", workloads.names())
def test_what_depends_on_data_is_said_to_be_left_out(name: str) -> None:
    assert workloads.build(name, device="meta").left_out


def test_a_family_takes_its_size_as_an_argument() -> None:
    assert workloads.llama(device="meta", size="70b").name == "llama_70b"
    assert workloads.bert(device="meta", size="large").name == "bert_large"
    assert workloads.gpt2(device="meta", size="xl").name == "gpt2_xl"


@pytest.mark.parametrize("family", ["llama", "bert", "gpt2", "transformer", "dlrm"])
def test_an_unknown_size_names_the_known_ones(family: str) -> None:
    with pytest.raises(OptionError, match=r"no size 'huge'\. Try: "):
        getattr(workloads, family)(device="meta", size="huge")


def test_an_unknown_name_gets_near_matches() -> None:
    with pytest.raises(OptionError, match="resnet50"):
        workloads.build("resnet51")
    with pytest.raises(AttributeError, match="resnet50"):
        workloads.resnet51  # noqa: B018


def test_an_unknown_option_of_a_model_is_refused() -> None:
    with pytest.raises(OptionError, match="sdpa or math"):
        workloads.build("gpt2", tiny=True, attention="flash")
    with pytest.raises(OptionError, match="resnet34"):
        workloads.build("ssd300", backbone="vgg")
    with pytest.raises(TypeError):
        workloads.build("lenet", depth=3)

"""`surfer predict-model`: a model that is named is predicted; what is wrong with a factory is told with the remedy."""

from __future__ import annotations

import csv
import json

import jsonschema
import pytest
from typer.testing import CliRunner

from surfer_lab.cli.commands import app
from surfer_lab.view.schema import view_schema

pytest.importorskip("torch")

FACTORIES = """
import torch
from torch import nn

def pair():
    return nn.Linear(10, 3), torch.randn(4, 10)

def of_batch(batch_size=6):
    model = nn.Linear(10, 3)
    return model, {"input": torch.randn(batch_size, 10)}, torch.optim.SGD(model.parameters(), lr=0.1)

def stepper():
    model = nn.Linear(10, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def step(batch_size):
        model(torch.randn(batch_size, 10)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step

def model_only():
    return nn.Linear(10, 3)

def number():
    return 3

def needs_two():
    return lambda a, b: None

def fails():
    model = nn.Linear(10, 3)
    return model, torch.randn(4, 11)

value = 3
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FACTORIES, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import no_such_package_anywhere\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["predict-model", *(str(word) for word in words)])


def test_a_workload_is_answered_with_time_memory_batch_curve_and_coverage(run, tmp_path):
    page, table = tmp_path / "a.html", tmp_path / "a.csv"
    words = ("surfer_lab.workloads:lenet", "--batch-size", 64, "--on", "T4,L4", "--html", page, "--csv", table)
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    for said in (
        "Training step, batch 64", "nothing was run", "max batch", "In another precision, or compiled", "Batch size on",
        "knee", "Memory on", "allocated", "reserved", "Coverage on",
    ):  # fmt: skip
        assert said in done.stdout, said
    html = page.read_text(encoding="utf-8")
    assert "Batch size on" in html and "s-batches" in html
    assert "s-band" in html
    with table.open(encoding="utf-8") as stream:
        assert {row["gpu"] for row in csv.DictReader(stream)} == {"T4", "L4"}


@pytest.mark.parametrize(("factory", "batch"), [("pair", 4), ("of_batch", 6), ("stepper", 12)])
@pytest.mark.parametrize("module", ["mine", "mine.py"])
def test_every_form_of_a_factory_is_taken(run, module, factory, batch):
    words = ("--batch-size", batch) if factory == "stepper" else ()
    done = run(f"{module}:{factory}", "--on", "T4", "--json", *words)
    assert done.exit_code == 0, done.stderr
    view = json.loads(done.stdout)
    jsonschema.validate(view, view_schema())
    assert view["title"] == f"Training step, batch {batch}"
    assert view["rows"][0]["largest_batch"] > 1_000


def test_what_a_factory_leaves_open_is_said(run):
    view = json.loads(run("mine:pair", "--on", "T4", "--json").stdout)
    assert any("AdamW is taken" in line for line in view["assumptions"])
    assert any("mean of the outputs" in line for line in view["assumptions"])


def test_inference_is_predicted_without_a_backward_pass(run):
    view = json.loads(run("mine:pair", "--inference", "--on", "T4", "--json").stdout)
    assert view["title"] == "Forward pass, batch 4"
    assert {row["phase"] for row in view["operations"]} <= {"forward", "other"}


def test_batch_sizes_precision_and_compile_are_what_ifs(run):
    done = run(
        "mine:of_batch", "--on", "L4,T4", "--batch-sizes", "8,32", "--precision", "amp-bf16", "--compile", "default",
        "--json",
    )  # fmt: skip
    view = json.loads(done.stdout)
    (curve,) = [figure for figure in view["figures"] if figure["kind"] == "curve"]
    assert {6, 8, 32} <= {point["batch_size"] for point in curve["points"]}
    assert [row["gpu"] for row in view["blocked"]] == ["T4"]
    assert view["title"].endswith("AMP bf16, compiled")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mine",), "is not MODULE:FACTORY"),
        (("mine:pairs",), "mine:pair"),
        (("mine:value",), "not a function"),
        (("mine:model_only",), "return (model, inputs)"),
        (("mine:number",), "the factory returns int"),
        (("mine:needs_two",), "2 arguments"),
        (("mine:stepper",), "--batch-size 32"),
        (("mine:fails",), "RuntimeError"),
        (("nowhere:x",), "there is no module nowhere"),
        (("nowhere.py:x",), "there is no file"),
        (("broken:x",), "pip install no_such_package_anywhere"),
        (("surfer_lab.workloads:resnet5",), "resnet50"),
        (("surfer_lab.workloads:qqq",), "Try: surfer_lab.workloads:bert_base or"),
        (("mine:torch_",), "Try: mine:"),
        (("mine:pair", "--on", "T4", "--precision", "bf16"), "none of the GPUs"),
        (("mine:pair", "--precision", "fp8"), "known: as-run"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence_with_the_remedy(run, words, said):
    done = run(*words)
    assert done.exit_code == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""

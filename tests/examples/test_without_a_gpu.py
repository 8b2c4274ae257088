"""The notebooks that run nothing on a GPU and nothing on the CPU either, headless, in kernels of this environment."""

from __future__ import annotations

import pytest

from surfer_lab.report.bundle import MIME_TYPE


def outputs_and_text(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "\n".join(output.text for output in outputs if output.output_type == "stream")
    return outputs, text


@pytest.mark.slow
def test_models_written_in_a_notebook_are_predicted_without_being_run(run_example):
    outputs, text = outputs_and_text(run_example("no_gpu"))
    answers = [output.data[MIME_TYPE] for output in outputs if MIME_TYPE in output.get("data", {})]
    assert [answer["name"] for answer in answers] == ["ResNet-50", "GPT-2"]
    assert [answer["title"] for answer in answers] == [
        "Training step, batch 64", "Training step, batch 4, AMP bf16",
    ]  # fmt: skip
    for answer in answers:
        assert answer["curve"]["gpu"]
        assert answer["coverage"]["unscaled_of_items"] <= 0.01
        assert answer["coverage"]["fallback_of_time"] <= 0.10
    assert "not here" in text
    assert "The largest batch on 24 GB" in text


@pytest.mark.slow
def test_the_first_papers_table_and_case_studies_are_predicted(run_example):
    outputs, text = outputs_and_text(run_example("first_paper"))
    table = next(output.data["text/html"] for output in outputs if "text/html" in output.get("data", {}))
    for word in ("Quadro P4000", "RTX 2080 Ti", "H100 SXM5", "inception_v3", "dcgan"):
        assert word in table
    assert "Renting buys speed" in text
    assert "V100 against the 2080 Ti" in text

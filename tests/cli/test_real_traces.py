"""Every public trace at hand is answered as its user would want it, or refused in one sentence with exit code 2."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from surfer_lab.cli.commands import app

# more than 1,000 kernels, and the pair of one model on two GPUs: must be predicted; with the GPU that some do not name
MUST_PREDICT = {
    "df_index_resolver__df_index_resolver.json.gz": None,
    "kineto_v100_resnet50_num_workers_0.json.gz": None,
    "kineto_v100_resnet50_num_workers_4.json.gz": None,
    "nccl_parser_config__nccl_data.json.gz": None,
    "negative_queue_length_values_check__rank0.json.gz": None,
    "ns_resolution_trace__rank-0.json.gz": None,
    "param_2080ti_resnet.json.gz": None,
    "timeline_analysis__sampled_rank-0.json.gz": "A100 SXM4 40GB",
    "trace_diff__control__control.json.gz": None,
    "trace_diff__test__test.json.gz": None,
    "trace_filter__sampled_rank-1.json.gz": "A100 SXM4 40GB",
    "tracelens_h100_bert-small.json.gz": None,
    "tracelens_mi300x_bert-small.json.gz": None,
}
NAME_NO_GPU = (
    "call_stack__backward_thread.json.gz",
    "timeline_analysis__sampled_rank-0.json.gz",
    "trace_compare__base__base.json.gz",
    "trace_compare__test__test.json.gz",
    "trace_file_list__inference_rank_1.json.gz",
    "trace_filter__sampled_rank-1.json.gz",
)
SMALL = (
    "amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "critical_path__alexnet__benchmark_result_trace.json.gz",
    "critical_path__cuda_event_sync__event_sync_trace.json.gz",
    "critical_path__cuda_event_sync_multi_stream__event_sync_trace.json.gz",
    "critical_path__end_to_end__simple_add__input__trace.json.gz",
    "execution_trace__benchmark_simple_add_trace.json.gz",
    "triton_example__triton_example.json.gz",
)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_lists_name_every_trace_at_hand(traces_dir):
    at_hand = {path.name for path in traces_dir.glob("*.json.gz")}
    assert at_hand == set(MUST_PREDICT) | set(NAME_NO_GPU) | set(SMALL)


@pytest.mark.parametrize("name", MUST_PREDICT)
def test_a_trace_of_real_work_is_predicted_on_all_gpus(traces_dir, name):
    origin = MUST_PREDICT[name]
    done = run("predict", traces_dir / name, "--json", *(("--from", origin) if origin else ()))
    assert done.exit_code == 0, done.stderr
    view = json.loads(done.stdout)
    rows = view["rows"]
    assert len(rows) >= 75
    for row in rows:
        step = row["step"]
        assert step["low"] <= step["value"] * 1.0001
        assert step["value"] <= step["high"] * 1.0001
        assert step["value"] > 0
        assert sum(row["methods"].values()) == pytest.approx(1, abs=0.01)
        assert sum(row["parts_ms"]) > 0
    assert {sentence["role"] for sentence in view["sentences"]} >= {"step", "bound", "fastest", "cheapest", "advice"}
    assert sum(row["share"] for row in view["operations"]) == pytest.approx(1, abs=0.01)
    assert sum(row.get("is_origin", False) for row in rows) == 1


@pytest.mark.parametrize("name", NAME_NO_GPU)
def test_a_trace_that_names_no_gpu_asks_for_it_in_one_sentence(traces_dir, name):
    done = run("predict", traces_dir / name)
    assert done.exit_code == 2
    assert "--from" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    named = run("predict", traces_dir / name, "--from", "A100 SXM4 40GB", "--on", "T4")
    assert named.exit_code in {0, 2}, named.output
    assert "Traceback" not in named.output


@pytest.mark.parametrize("name", SMALL)
def test_a_trace_of_a_few_kernels_is_predicted_or_refused_in_one_sentence(traces_dir, name):
    done = run("predict", traces_dir / name, "--on", "T4,H100 SXM5")
    assert done.exit_code in {0, 2}
    if done.exit_code == 2:
        assert len(done.stderr.strip().splitlines()) == 1
    else:
        assert "Fastest" in done.stdout


def test_the_resnet_with_four_loaders_is_launch_bound_under_its_profiler_and_the_one_with_none_input_bound(traces_dir):
    gpus = "T4,A100 SXM4 80GB,RTX 2080 Ti,H100 SXM5"
    said = {}
    for workers in (0, 4):
        done = run(
            "predict", traces_dir / f"kineto_v100_resnet50_num_workers_{workers}.json.gz", "--json", "--on", gpus
        )
        view = json.loads(done.stdout)
        said[workers] = {sentence["role"]: sentence["text"] for sentence in view["sentences"]}
        assert view["shows_busy"]
        fast = next(row for row in view["rows"] if row["gpu"] == "H100 SXM5")
        # a card five times as fast is held up by the same host or loader
        assert fast["step"]["value"] > 0.9 * view["here"]["step"]["value"]
    assert said[4]["bound"].startswith("Launch bound under its profiler")
    assert "GPU busy alone" in said[4]["bound"]
    assert said[0]["bound"].startswith("Input bound")
    assert "loader" in said[0]["advice"]

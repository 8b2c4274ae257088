"""The vocabulary of `predict`: what is understood, and what is refused with which near match."""

from __future__ import annotations

import dataclasses
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.planner.options import (
    PREDICT_FLAGS,
    CompileMode,
    Precision,
    PredictOptions,
    options_line,
    parse_predict_line,
    predict_options,
)


def test_every_flag_fills_one_field_of_the_options_and_every_field_has_a_flag():
    assert [flag.field for flag in PREDICT_FLAGS] == [field.name for field in dataclasses.fields(PredictOptions)]


def test_an_empty_line_asks_for_everything_by_default():
    assert parse_predict_line("") == PredictOptions()


def test_names_with_spaces_need_no_quotes_on_the_line_of_the_magic():
    options = parse_predict_line("--on H100 SXM5, RTX 4090 --batch-size 32 --from V100 SXM2 16GB --spot")
    assert options.on == ("H100 SXM5", "RTX 4090")
    assert options.batch_size == 32
    assert options.origin == "V100 SXM2 16GB"
    assert options.spot


def test_all_among_names_means_all():
    assert parse_predict_line("--on L4,all").shows_all


def test_prices_are_read_with_and_without_a_dollar_sign_and_may_be_repeated():
    options = parse_predict_line("--price H100 SXM5=2.99, L4=$0.7 --price A100 SXM4 80GB=1.1")
    assert options.prices == {"H100 SXM5": 2.99, "L4": 0.7, "A100 SXM4 80GB": 1.1}


def test_the_what_ifs_are_words_of_the_engine():
    asked = parse_predict_line("--precision AMP-bf16 --compile reduce-overhead --batch-sizes 64, 16 --no-run")
    assert asked.precision is Precision.AMP_BF16
    assert asked.compile is CompileMode.REDUCE_OVERHEAD
    assert asked.batch_sizes == (16, 64)
    assert asked.no_run
    assert parse_predict_line("--precision as-run").precision is Precision.AS_RUN


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--batchsize 32", "--batch-size"),
        ("--Batch-Sise 32", "--batch-size"),
        ("--no H100", "--on"),
        ("batch-size 32", "--batch-size"),
        ("--compile inductor", "known: off, default, reduce-overhead"),
        ("--batch-sizes 8,many", "whole number above 0"),
        ("--batch-size many", "whole number above 0"),
        ("--batch-size 0", "whole number above 0"),
        ("--batch-size", "whole number above 0"),
        ("--host-factor nan", "not a number above 0"),
        ("--host-factor -1", "not a number above 0"),
        ("--precision fp16", "known: as-run"),
        ("--price H100", "GPU=USD_PER_HOUR"),
        ("--price H100=-3", "GPU=USD_PER_HOUR"),
        ("--price H100=inf", "GPU=USD_PER_HOUR"),
        ("--spot yes", "takes no value"),
        ("--on", "names no GPU"),
        ("--name ''", "has no value"),
        ("--on H100 --on L4", "given twice"),
        ("--name 'x", "close the quotes"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_could(line, said):
    with pytest.raises(OptionError, match="Try: ") as refused:
        parse_predict_line(line)
    assert said in str(refused.value)


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8).filter(lambda name: name.lower() != "all")


@given(
    st.builds(
        PredictOptions,
        on=st.lists(names, max_size=3).map(tuple),
        origin=st.none() | names,
        batch_size=st.none() | st.integers(1, 10**6),
        host_factor=st.sampled_from([0.5, 1.0, 2.0]),
        prices=st.dictionaries(names, st.sampled_from([0.0, 0.25, 3.0]), max_size=2),
        spot=st.booleans(),
        dataset_size=st.none() | st.integers(1, 10**9),
        name=st.none() | names,
    )
)
def test_options_written_as_a_line_are_read_back_the_same(options):
    assert parse_predict_line(options_line(options)) == options


def test_the_command_line_collects_texts_by_field():
    options = predict_options({"on": ["L4", "T4,A10"], "batch_size": "8", "spot": "", "origin": None})
    assert options == PredictOptions(on=("L4", "T4", "A10"), batch_size=8, spot=True)
    assert shlex.split(options_line(options)) == ["--on", "L4,T4,A10", "--batch-size", "8", "--spot"]


@pytest.mark.parametrize(
    "line", ["--batch-size 1" + "0" * 400, "--dataset-size 1" + "0" * 16, "--host-factor 1e-300", "--host-factor 1e300",
             "--price T4=1e308"]
)  # fmt: skip
def test_numbers_that_nobody_can_mean_are_refused_before_anything_overflows(line):
    with pytest.raises(OptionError):
        parse_predict_line(line)


@pytest.mark.parametrize(
    "values",
    [{"batch_size": 0}, {"batch_size": 10**400}, {"batch_size": "8"}, {"batch_size": True}, {"dataset_size": -1},
     {"host_factor": float("nan")}, {"host_factor": 0.0}, {"prices": {"T4": float("inf")}}, {"prices": {"T4": -1.0}}],
)  # fmt: skip
def test_python_is_refused_the_same_values_as_the_command_line(values):
    with pytest.raises(OptionError):
        PredictOptions(**values)

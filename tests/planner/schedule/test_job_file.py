"""Is a jobs file read as it is written, and each mistake named with its job and field?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError
from surfer_lab.hardware.configuration import parse_toml
from surfer_lab.planner.scaling.curve import FixedBatch
from surfer_lab.planner.schedule import job_specs


def specs(text: str):
    return job_specs(parse_toml(text, "jobs.toml"), where="jobs.toml")


def test_known_times_memory_and_dates_are_read_with_their_units():
    text = """
    [[job]]
    name = "vision"
    hours = {1 = 10.0, 2 = 6}
    memory_gb = {1 = 14, 2 = 9}
    deadline = 24
    release = 0.5
    weight = 3
    [[job]]
    name = "text"
    hours_on = {"DGX A100" = {1 = 5}, box = {2 = 9}}
    memory_gb = 30
    after = ["vision"]
    """
    vision, after = specs(text)
    assert vision.hours_on == {"": {1: 36_000.0, 2: 21_600.0}}
    assert vision.memory_gb == {1: 14.0, 2: 9.0}
    assert (vision.deadline_s, vision.release_s, vision.weight) == (86_400.0, 1800.0, 3)
    assert after.hours_on == {"DGX A100": {1: 18_000.0}, "box": {2: 32_400.0}}
    assert after.memory_gb == {0: 30.0}
    assert after.after == ("vision",)
    assert not vision.is_predicted


def test_work_of_a_predicted_job_is_steps_or_samples():
    text = """
    [[job]]
    name = "a"
    model = "surfer_lab.workloads:resnet50"
    epochs = 2
    dataset_size = 100
    scaling = "strong"
    counts = [4, 1, 4]
    [[job]]
    name = "b"
    trace = "step.json.gz"
    from = "V100 SXM2 16GB"
    steps = 1_000
    """
    model, trace = specs(text)
    assert (model.samples, model.steps, model.fixed, model.counts) == (200.0, None, FixedBatch.GLOBAL, (1, 4))
    assert (trace.samples, trace.steps, trace.fixed, trace.origin) == (
        None,
        1000.0,
        FixedBatch.PER_GPU,
        "V100 SXM2 16GB",
    )
    assert model.is_predicted
    assert trace.is_predicted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no [[job]] table"),
        ("job = 3", "no [[job]] table (job)"),
        ("machine = 'x'\n[[job]]\nname = 'a'\nhours = {1 = 1}", "'machine' outside"),
        ("[[job]]\nhours = {1 = 1}", "job 1 has no name"),
        ("[[job]]\nname = 'a'", "no time and nothing to predict it from"),
        ("[[job]]\nname = 'a'\nhours = {1 = 1}\nmodel = 'm:f'", "hours and model"),
        ("[[job]]\nname = 'a'\nhours = {1 = 1}\nsteps = 4", "steps beside hours"),
        ("[[job]]\nname = 'a'\nhors = {1 = 1}", "a field 'hors'. Try: hours"),
        ("[[job]]\nname = 'a'\nhours = {}", "hours is empty"),
        ("[[job]]\nname = 'a'\nhours = {0 = 1}", "0"),
        ("[[job]]\nname = 'a'\nhours = 3", "takes 3 hours"),
        ("[[job]]\nname = 'a'\nhours = {1 = -2}", "hours is -2"),
        ("[[job]]\nname = 'a'\nhours = {1 = true}", "hours is True"),
        ("[[job]]\nname = 'a'\nhours = {1.5 = 2}", "hours"),
        ("[[job]]\nname = 'a'\nhours_on = 3", "hours_on is 3"),
        ("[[job]]\nname = 'a'\nmodel = 'm:f'", "no amount of work"),
        ("[[job]]\nname = 'a'\nmodel = 'm:f'\nsteps = 1\nsamples = 2", "steps and samples"),
        ("[[job]]\nname = 'a'\nmodel = 'm:f'\nsteps = 0", "steps is 0"),
        ("[[job]]\nname = 'a'\nmodel = 'm:f'\nepochs = 1", "no dataset_size"),
        ("[[job]]\nname = 'a'\nmodel = 'm:f'\nsteps = 1\nscaling = 'some'", "weak or strong"),
        ("[[job]]\nname = 'a'\nmodel = 3\nsteps = 1", "model is 3"),
        ("[[job]]\nname = 'a'\nhours = {1 = 1}\nafter = 'b'", "a list"),
        ("[[job]]\nname = 'a'\nhours = {1 = 1}\ndeadline = 'soon'", "deadline is 'soon'"),
        ("[[job]]\nname = 'a'\nhours = {1 = 1}\nweight = 0", "weight is 0"),
    ],
)
def test_each_mistake_is_named(text, said):
    with pytest.raises(OptionError) as raised:
        specs(text)
    assert said in str(raised.value)


SCALARS = st.none() | st.booleans() | st.integers(-3, 10**18) | st.floats() | st.text(max_size=4)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text("012a", max_size=2), SCALARS, max_size=2)
WORDS = st.sampled_from(
    [
        "name",
        "hours",
        "hours_on",
        "model",
        "trace",
        "steps",
        "epochs",
        "counts",
        "memory_gb",
        "deadline",
        "after",
        "weight",
    ]
)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_whatever_stands_in_a_table_is_read_or_refused_by_name(row):
    try:
        (spec,) = job_specs({"job": [row]}, where="jobs.toml")
    except OptionError as error:
        assert "jobs.toml" in str(error)
    else:
        assert spec.name == row["name"].strip()
        assert all(seconds > 0 for hours in spec.hours_on.values() for seconds in hours.values())

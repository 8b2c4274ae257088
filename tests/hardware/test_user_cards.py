from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import GpuError
from surfer_lab.hardware.cards import read_cards
from surfer_lab.hardware.catalog import add_gpu, load_catalog
from surfer_lab.hardware.configuration import configuration_folder, parse_toml
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import RateOrigin, Vendor
from surfer_lab.hardware.user_cards import REQUIRED_FIELDS, card_from_row, row_text

ROW: dict[str, object] = {
    "name": "My RTX 3080 12GB",
    "aliases": ["NVIDIA GeForce RTX 3080 12GB"],
    "compute_capability": "8.6",
    "segment": "geforce",
    "sm_count": 70,
    "clock_mhz": 1710,
    "memory_gb": 12,
    "bandwidth_gb_per_s": 912.4,
}


def test_a_row_becomes_a_gpu_with_what_is_left_out_worked_out() -> None:
    gpu = add_gpu(ROW)
    assert gpu.user_defined and not gpu.estimated
    assert gpu.vendor is Vendor.NVIDIA
    assert gpu.peak_flop_per_s[RateClass.FP32] == pytest.approx(2 * 70 * 128 * 1710e6)  # 30.6 TFLOP/s
    assert gpu.peak_flop_per_s[RateClass.BF16] == pytest.approx(2 * gpu.peak_flop_per_s[RateClass.FP32], rel=0.01)
    assert gpu.sustained[RateClass.BF16].origin is RateOrigin.TYPICAL
    assert gpu.limits == load_catalog().find("RTX 3090").limits
    assert "fp32 peak = 2 x SMs x lanes x clock" in gpu.notes
    assert load_catalog().find("my rtx 3080 12gb") == gpu
    assert load_catalog().find("NVIDIA GeForce RTX 3080 12GB") == gpu
    assert load_catalog().all()[0] == gpu
    assert len(load_catalog()) == 76


def test_the_users_own_measurements_are_used_and_said_to_be_his() -> None:
    gpu = add_gpu({**ROW, "sustained_bf16_tflops": 66.0, "sustained_bandwidth_gb_per_s": 800})
    assert gpu.sustained[RateClass.BF16].per_s == pytest.approx(66e12)
    assert gpu.sustained[RateClass.BF16].origin is RateOrigin.MEASURED
    assert gpu.sustained_bandwidth.per_s == pytest.approx(800e9)
    assert "user's row" in gpu.sustained_bandwidth.source


def test_a_row_of_a_known_name_replaces_the_card() -> None:
    gpu = add_gpu({**ROW, "name": "RTX 3080 10GB", "memory_gb": 20})
    assert load_catalog().find("RTX 3080 10GB") == gpu
    assert gpu.memory_bytes == 20_000_000_000
    assert len(load_catalog()) == 75


def test_a_saved_row_is_there_in_the_next_session(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = add_gpu(ROW, save=True)
    assert [path.name for path in (own_folder / "gpus").iterdir()] == ["myrtx308012gb.toml"]
    from surfer_lab.hardware import catalog

    monkeypatch.setattr(catalog, "_SESSION", catalog._Session())
    assert load_catalog().find("My RTX 3080 12GB") == gpu


def test_rows_come_as_toml_text_and_files_too(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    path.write_text(row_text(ROW), encoding="utf-8")
    assert add_gpu(row_text(ROW)) == add_gpu(path) == add_gpu(ROW)


def test_an_amd_row_needs_no_vendor() -> None:
    gpu = add_gpu({**ROW, "name": "MI308X", "compute_capability": "gfx942", "segment": "datacentre", "sm_count": 80})
    assert gpu.vendor is Vendor.AMD
    assert gpu.limits.warp_size == 64


@pytest.mark.parametrize("field", REQUIRED_FIELDS)
def test_a_missing_field_is_named(field: str) -> None:
    row = {key: value for key, value in ROW.items() if key != field}
    with pytest.raises(GpuError, match=field):
        add_gpu(row)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("sm_count", "70", "sm_count is '70', expected a whole number"),
        ("sm_count", True, "sm_count is True"),
        ("sm_count", 0, "from 1 to 4096"),
        ("memory_gb", -12, "memory_gb is -12"),
        ("memory_gb", float("nan"), "memory_gb is nan"),
        ("bandwidth_gb_per_s", None, "bandwidth_gb_per_s is None"),
        ("compute_capability", 8.6, r'compute_capability is 8.6, expected text such as "8.6"'),
        ("compute_capability", "5.2", "'5.2'"),
        ("name", "two, names", "without commas"),
        ("name", "", "name is ''"),
        ("name", "\x1b[31mred", "name is"),
        ("aliases", "one", "expected a list of names"),
        ("vendor", "AMD", "compute_capability '8.6' is one of NVIDIA"),
        ("segment", "toaster", "one of geforce, workstation, datacentre"),
        ("bf16_tflops", 0, "bf16_tflops is 0"),
        ("bandwith_gb_per_s", 900, "bandwidth_gb_per_s?"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_what_was_seen_and_expected(field: str, value: object, said: str) -> None:
    with pytest.raises(GpuError) as caught:
        add_gpu({**ROW, field: value})
    assert said in str(caught.value)
    assert len(load_catalog()) == 75


def test_a_peak_or_a_clock_is_needed() -> None:
    row = {key: value for key, value in ROW.items() if key != "clock_mhz"}
    with pytest.raises(GpuError, match="lacks fp32_tflops, and clock_mhz"):
        add_gpu(row)


def test_a_broken_file_becomes_a_warning_that_names_it_and_the_rest_stays_usable(own_folder: Path) -> None:
    folder = own_folder / "gpus"
    folder.mkdir(parents=True)
    (folder / "sound.toml").write_text(row_text(ROW), encoding="utf-8")
    (folder / "torn.toml").write_text('name = "half"\nsm_count = = 3', encoding="utf-8")
    (folder / "wrong.toml").write_text(row_text({**ROW, "name": "W", "sm_count": -1}), encoding="utf-8")
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (folder / "folder.toml").mkdir()
    catalog = load_catalog()
    assert len(catalog) == 76
    warned = "\n".join(catalog.warnings)
    assert len(catalog.warnings) == 4
    assert "torn.toml is not valid TOML" in warned and "line 2" in warned
    assert "wrong.toml: sm_count is -1" in warned
    assert "binary.toml is not UTF-8" in warned
    assert "folder.toml" in warned


def test_a_changed_file_is_seen_without_a_restart(own_folder: Path) -> None:
    before = load_catalog()
    (own_folder / "gpus").mkdir(parents=True)
    (own_folder / "gpus" / "mine.toml").write_text(row_text(ROW), encoding="utf-8")
    assert load_catalog() is not before
    assert load_catalog().find("My RTX 3080 12GB").user_defined


def test_the_folder_is_named_by_the_variable(own_folder: Path) -> None:
    assert configuration_folder() == own_folder


def test_a_folder_that_cannot_be_written_is_named(own_folder: Path) -> None:
    own_folder.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(GpuError, match=r"cannot be written.*SURFER_LAB_CONFIG_DIR"):
        add_gpu(ROW, save=True)


LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters=",")
NAMES = st.text(LETTERS, min_size=1, max_size=40).filter(lambda name: any(map(str.isalnum, name)))


@given(
    st.fixed_dictionaries(
        {
            "name": NAMES,
            "compute_capability": st.sampled_from(["7.0", "8.6", "9.0", "gfx90a"]),
            "sm_count": st.integers(1, 300),
            "memory_gb": st.floats(1, 500),
            "bandwidth_gb_per_s": st.floats(10, 10_000),
            "fp32_tflops": st.floats(1, 300),
        },
        optional={
            "aliases": st.lists(NAMES),
            "tdp_w": st.integers(10, 2000),
        },
    )
)
def test_a_sound_row_written_and_read_is_the_same_row(row: dict[str, object]) -> None:
    read = parse_toml(row_text(row), "the row")
    assert read == row
    assert card_from_row(read, read_cards()) == card_from_row(row, read_cards())


@given(st.dictionaries(st.text(max_size=20), st.none() | st.booleans() | st.integers() | st.floats() | st.text()))
def test_any_dict_is_a_row_or_refused_with_a_remedy(row: dict[str, object]) -> None:
    with pytest.raises(GpuError) as caught:
        card_from_row(row, read_cards())
    assert caught.value.remedy

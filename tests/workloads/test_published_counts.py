"""The published counts are reproduced, and hand-worked ones where nobody published any."""

from __future__ import annotations

import pytest

from surfer_lab import workloads
from surfer_lab.workloads.counts import CountRow, compare_with_published, forward_mac_count, parameter_count
from surfer_lab.workloads.published import Quantity


@pytest.fixture(scope="module")
def rows() -> list[CountRow]:
    return list(compare_with_published())


def test_every_published_count_is_reproduced_within_its_rounding(rows: list[CountRow]) -> None:
    apart = [f"{row.workload} {row.published.scope}: {row.counted} for {row.published.value}" for row in rows]
    assert [text for text, row in zip(apart, rows, strict=True) if not row.agrees] == []


def test_every_workload_has_a_published_parameter_count_with_its_source(rows: list[CountRow]) -> None:
    sourced = {
        row.workload for row in rows if row.published.quantity is Quantity.PARAMETERS and row.published.source.strip()
    }
    assert sourced == set(workloads.names())


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("resnet50", 25.56),
        ("inception_v3", 27.16),
        ("gnmt", 160.67),
        ("mask_rcnn", 44.40),
        ("ncf", 31.83),
        ("gpt2", 124.44),
        ("gpt2_medium", 354.82),
        ("gpt2_large", 774.03),
        ("gpt2_xl", 1557.61),
        ("caffenet", 60.97),
        ("lenet", 0.43),
        ("llama_70b", 68_976.65),
    ],
)
def test_parameters_in_millions_are_the_well_known_ones(name: str, millions: float) -> None:
    assert round(parameter_count(workloads.build(name, device="meta")) / 1e6, 2) == millions


def test_bert_with_its_heads_has_the_encoder_and_the_two_heads() -> None:
    # token head: transform 1024 x 1024 + 1024, its norm 2 x 1024, one bias a token; sentence head 1024 x 2 + 2
    heads = 1024 * 1024 + 1024 + 2 * 1024 + 30_522 + 1024 * 2 + 2
    assert parameter_count(workloads.build("bert_large", device="meta")) == 335_141_888 + heads


def test_ssd300_has_trunk_extras_and_heads() -> None:
    channels = [1024, 512, 512, 256, 256, 256]
    inner = [256, 256, 128, 128, 128]
    extras = sum(
        before * middle + 2 * middle + 9 * middle * after + 2 * after  # 1 x 1, norm, 3 x 3, norm
        for before, middle, after in zip(channels, inner, channels[1:], strict=False)
    )
    heads = sum((9 * width + 1) * boxes * (4 + 81) for width, boxes in zip(channels, [4, 6, 6, 6, 4, 4], strict=True))
    assert parameter_count(workloads.build("ssd300", device="meta")) == 8_543_296 + extras + heads


def test_dcgan_macs_are_those_of_its_five_layers() -> None:
    # transposed convolution of 4 x 4: inputs x outputs x 16 an input pixel
    layers = [(100, 512, 1), (512, 256, 4), (256, 128, 8), (128, 64, 16), (64, 3, 32)]
    macs = sum(inputs * outputs * 16 * side * side for inputs, outputs, side in layers)
    assert forward_mac_count(workloads.build("dcgan", device="meta")) == macs


def test_ncf_macs_are_its_weights() -> None:
    assert forward_mac_count(workloads.build("ncf", device="meta")) == 256 * 256 + 256 * 128 + 128 * 64 + (64 + 64) * 1


def test_dlrm_macs_are_its_weights_and_the_products_of_all_pairs() -> None:
    bottom = 13 * 512 + 512 * 256 + 256 * 128
    top = 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256
    products = 27 * 27 * 128
    assert forward_mac_count(workloads.build("dlrm", device="meta")) == bottom + top + products


def test_gnmt_macs_a_sentence_pair_are_four_gates_a_layer_attention_and_classifier() -> None:
    width, length, vocabulary = 64, 5, 97

    def gates(inputs: int) -> int:
        return 4 * width * (inputs + width)

    encoder = 2 * gates(width) + gates(2 * width) + 2 * gates(width)
    decoder = gates(width) + 3 * gates(2 * width)
    # query, key, context; the scores' product with a vector is element-wise work to torch's counter
    attention = length * (width * width * 2) + length * length * width
    classifier = length * width * vocabulary
    counted = forward_mac_count(
        workloads.build("gnmt", device="meta", width=width, sequence=length, vocabulary=vocabulary)
    )
    assert counted == length * (encoder + decoder) + attention + classifier


def test_macs_grow_with_the_batch() -> None:
    work = workloads.build("lenet", device="meta")
    assert forward_mac_count(work, batch_size=7) == 7 * forward_mac_count(work, batch_size=1)


def test_llama_macs_a_token_are_near_its_parameters() -> None:
    # 2 FLOPs a parameter and token is the usual estimate; attention over 64 tokens adds little
    work = workloads.build("llama_7b", device="meta", sequence=64)
    embedding = 32_000 * 4096
    assert forward_mac_count(work) / 64 == pytest.approx(parameter_count(work) - embedding, rel=0.01)

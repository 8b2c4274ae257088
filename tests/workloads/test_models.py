"""Parts that are written out here do what their originals do."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from surfer_lab import workloads
from surfer_lab.workloads.models.attention import MultiHeadAttention, attend
from surfer_lab.workloads.models.dlrm import EmbeddingTables
from surfer_lab.workloads.models.llama import _SIZES, Llama
from surfer_lab.workloads.models.mask_rcnn import level_shares, roi_align
from surfer_lab.workloads.models.ssd import SsdLoss, default_boxes


@pytest.mark.parametrize("causal", [False, True])
def test_both_kinds_of_attention_agree(causal: bool) -> None:
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    results = [attend(query, key, value, kind=kind, causal=causal) for kind in ("sdpa", "math")]
    assert torch.allclose(*results, atol=1e-6)


def test_a_mask_hides_places_in_both_kinds() -> None:
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    keep = torch.tensor([[True, True, False, True, True], [True, False, False, True, True]])[:, None, None, :]
    results = [attend(query, key, value, kind=kind, keep=keep) for kind in ("sdpa", "math")]
    assert torch.allclose(*results, atol=1e-6)


def test_multi_head_attention_is_torchs() -> None:
    ours = MultiHeadAttention(8, 2, dropout=0.0, kind="math")
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    x, source = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    assert torch.allclose(ours(x, source), theirs(x, source, source)[0], atol=1e-6)


def test_table_updates_equal_sparse_sgd() -> None:
    ours = EmbeddingTables((6, 4), 3)
    theirs = [torch.nn.Embedding.from_pretrained(t.detach().clone(), freeze=False, sparse=True) for t in ours.tables]
    optimizer = torch.optim.SGD([p for e in theirs for p in e.parameters()], lr=0.5)
    index = torch.tensor([[0, 1], [5, 1], [0, 3], [2, 1]])  # repeated indices add up
    weight = torch.randn(4, 2, 3)
    (torch.stack(ours(index), 1) * weight).sum().backward()
    ours.subtract_gradients(0.5)
    (torch.stack([e(index[:, i]) for i, e in enumerate(theirs)], 1) * weight).sum().backward()
    optimizer.step()
    for table, embedding in zip(ours.tables, theirs, strict=True):
        assert torch.allclose(table, embedding.weight)


def test_ssd_has_8732_default_boxes_inside_the_image() -> None:
    boxes = default_boxes()
    assert boxes.shape == (4, 8732)
    assert (boxes >= 0).all()
    assert (boxes <= 1).all()


def test_ssd_loss_is_zero_for_perfect_boxes_and_sure_classes() -> None:
    criterion = SsdLoss()
    label = torch.zeros(1, 8732, dtype=torch.long)
    label[0, 100:110] = 3
    scores = 100.0 * F.one_hot(label, 5).float().transpose(1, 2)
    box = criterion.boxes.clamp(min=0.01)
    criterion.boxes = box
    assert criterion(torch.zeros(1, 4, 8732), scores, box, label).item() == pytest.approx(0.0, abs=1e-6)


def test_ssd_loss_counts_three_negatives_a_match() -> None:
    # two matches, all scores equal: (2 + 6) x log(classes) a match pair = 4 log(classes) each
    label = torch.zeros(1, 8732, dtype=torch.long)
    label[0, :2] = 1
    criterion = SsdLoss()
    loss = criterion(torch.zeros(1, 4, 8732), torch.zeros(1, 5, 8732), criterion.boxes, label)
    assert loss.item() == pytest.approx(4 * torch.tensor(5.0).log().item(), rel=1e-5)


def test_roi_align_of_a_ramp_is_the_ramp_at_the_bins_centres() -> None:
    height, width, stride = 16, 24, 4
    x = (torch.arange(width // stride) + 0.5) * stride  # a pixel's centre, in image coordinates
    features = x.expand(1, 1, height // stride, -1).contiguous()
    box = torch.tensor([[[4.0, 4.0, 18.0, 12.0]]])
    pooled = roi_align(features, box, 7, (height, width))
    centres = 4.0 + (torch.arange(7) + 0.5) * 2.0
    assert torch.allclose(pooled[0, 0, 3], centres, atol=1e-5)


@pytest.mark.parametrize("count", [16, 100, 512, 1000])
def test_level_shares_sum_to_the_count(count: int) -> None:
    assert sum(level_shares(count)) == count


def test_mask_rcnn_trains_all_but_stem_and_first_stage() -> None:
    model = workloads.build("mask_rcnn", tiny=True).model
    fixed = {name.split(".")[1] for name, p in model.named_parameters() if not p.requires_grad}
    assert fixed == {"stem", "stages"}
    assert all(".stages.0." in n or ".stem." in n for n, p in model.named_parameters() if not p.requires_grad)


def test_checkpointing_changes_no_gradient() -> None:
    gradients = []
    for checkpointed in (False, True):
        torch.manual_seed(3)
        work = workloads.build("gpt2", tiny=True, dropout=0.0, checkpointed=checkpointed)
        torch.manual_seed(4)
        work.step(work.example_inputs(2))
        gradients.append(torch.cat([p.grad.flatten() for p in work.model.parameters()]))
    assert torch.allclose(*gradients, atol=1e-6)


def test_a_later_token_changes_no_earlier_score() -> None:
    for name in ("gpt2", "llama_7b"):
        work = workloads.build(name, tiny=True)
        batch = work.example_inputs(1)
        before = work.infer(batch)
        batch["token"][0, -1] = (batch["token"][0, -1] + 1) % 101
        assert torch.allclose(before[:, :-1], work.infer(batch)[:, :-1], atol=1e-6)


def test_rotary_scores_depend_on_distance_only() -> None:
    shape = _SIZES["7b"]
    model = Llama(
        type(shape)(**{**vars(shape), "layers": 1, "width": 16, "heads": 2, "kv_heads": 2, "vocabulary": 7,
                       "feed_forward": 8}),
        longest=12, attention="math", checkpointed=False,
    )  # fmt: skip
    from surfer_lab.workloads.models.llama import _rotate

    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    turned_q = _rotate(query.expand(1, 1, 12, 8), model.cosine, model.sine)
    turned_k = _rotate(key.expand(1, 1, 12, 8), model.cosine, model.sine)
    scores = (turned_q @ turned_k.transpose(-1, -2))[0, 0]
    assert torch.allclose(scores.diagonal(3), scores.diagonal(3)[:1].expand(9), atol=1e-5)


def test_a_llama_with_grouped_queries_has_smaller_keys() -> None:
    block = workloads.build("llama_70b", device="meta").model.blocks[0]
    assert block.key.weight.shape == (1024, 8192)
    assert block.query.weight.shape == (8192, 8192)

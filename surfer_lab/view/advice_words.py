"""How is the change that would help most told? With what it could save at best, or its share of the GPU time."""

from __future__ import annotations

from surfer_lab.planner.advice import Diagnosis, Remedy, RemedyKind
from surfer_lab.view.model import Role, Sentence
from surfer_lab.view.wording import duration_text, percent_text

__all__ = ["advice_sentence"]


def advice_sentence(diagnosis: Diagnosis) -> Sentence | None:
    """The first remedy; where it is to measure without the profiler, the first about the GPU's own part too."""
    if not diagnosis.remedies:
        return None
    first, *others = diagnosis.remedies
    if first.kind is not RemedyKind.MEASURE_WITHOUT_PROFILER:
        return Sentence(role=Role.ADVICE, label="Would help most", text=_remedy_text(first, diagnosis))
    text = _remedy_text(first, diagnosis)
    on_gpu = next((remedy for remedy in others if remedy.share_fraction is not None), None)
    if on_gpu is not None:
        text += f" For the GPU's own part: {_remedy_text(on_gpu, diagnosis)}"
    return Sentence(role=Role.ADVICE, label="Do next", text=text)


def _remedy_text(remedy: Remedy, diagnosis: Diagnosis) -> str:
    saved = remedy.saves_at_most_ns
    gain = ""
    if saved is not None:
        gain = f"up to {duration_text(saved)} ({percent_text(saved / diagnosis.parts.step_ns)}) a step"
    share = percent_text(remedy.share_fraction) if remedy.share_fraction is not None else ""
    return {
        RemedyKind.MEASURE_WITHOUT_PROFILER: (
            "measure the step without the profiler (run the loop under %%predict, or time a plain run): this trace "
            "alone cannot tell how late the launches really are."
        ),
        RemedyKind.FEWER_LAUNCHES: f"fewer, larger launches (larger batch, torch.compile, CUDA graphs): saves {gain}.",
        RemedyKind.FEED_FASTER: (
            f"feeding data faster (more loader workers, pinned memory, cheaper decoding): saves {gain}."
        ),
        RemedyKind.SYNCHRONIZE_LESS: (
            f"waiting less for the GPU inside the loop (.item(), .cpu(), printed losses): saves {gain}."
        ),
        RemedyKind.OVERLAP_COMMUNICATION: (
            f"overlapping communication with the backward pass, or a faster link: saves {gain}."
        ),
        RemedyKind.TENSOR_CORES: (
            f"tensor cores (torch.autocast): {share} of the GPU time is matrix work in plain fp32."
        ),
        RemedyKind.FUSE: (
            f"moving fewer bytes (torch.compile fuses element-wise operations; smaller dtypes): {share} of the GPU "
            "time is limited by memory bandwidth."
        ),
        RemedyKind.LARGER_BATCH: f"a larger batch: {share} of the GPU time goes to kernels too small to fill the GPU.",
        RemedyKind.FASTER_GPU: "a faster GPU: the step is GPU work throughout.",
    }[remedy.kind]

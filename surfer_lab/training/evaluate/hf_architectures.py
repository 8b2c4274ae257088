"""Which Transformers architectures is capture tried on, how small, and with which inputs? Data, and their builders.

Each is built from its configuration class, without weights. Text models get `tokens` token ids, encoders of images
pixels, of sound features; language models learn to predict their own input.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from surfer_lab.errors import OptionError

__all__ = ["ARCHITECTURES", "Architecture", "build_architecture"]

_TEXT: Final = {"vocab_size": 512}
_SMALL: Final = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_GROUPED: Final = {**_TEXT, **_SMALL, "num_key_value_heads": 2}
_TOKENS: Final = 32
_BATCH: Final = 4


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One architecture: configuration class, small sizes, the class of models that is trained, kind of input."""

    config: str
    model: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    inputs: str = "causal"


def _causal(config: str, **sizes: Any) -> Architecture:
    return Architecture(config=config, model="AutoModelForCausalLM", sizes=sizes)


def _masked(config: str, **sizes: Any) -> Architecture:
    return Architecture(config=config, model="AutoModelForMaskedLM", sizes=sizes, inputs="causal")


def _translating(config: str, **sizes: Any) -> Architecture:
    return Architecture(config=config, model="AutoModelForSeq2SeqLM", sizes=sizes, inputs="translating")


def _seeing(config: str, **sizes: Any) -> Architecture:
    return Architecture(config=config, model="AutoModelForImageClassification", sizes=sizes, inputs="image")


_BART: Final = {
    **_TEXT, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
}  # fmt: skip

ARCHITECTURES: Final[dict[str, Architecture]] = {
    "bert": _masked("BertConfig", **_TEXT, **_SMALL),
    "roberta": _masked("RobertaConfig", **_TEXT, **_SMALL),
    "distilbert": _masked("DistilBertConfig", **_TEXT, dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "albert": _masked("AlbertConfig", **_TEXT, **_SMALL, embedding_size=32),
    "electra": _masked("ElectraConfig", **_TEXT, **_SMALL, embedding_size=32),
    "deberta-v2": _masked("DebertaV2Config", **_TEXT, **_SMALL),
    "mpnet": _masked("MPNetConfig", **_TEXT, **_SMALL),
    "xlm-roberta": _masked("XLMRobertaConfig", **_TEXT, **_SMALL),
    "gpt2": _causal("GPT2Config", **_TEXT, n_embd=64, n_layer=2, n_head=4),
    "gpt-neo": _causal(
        "GPTNeoConfig", **_TEXT, hidden_size=64, num_layers=2, num_heads=4, intermediate_size=128,
        attention_types=[[["global", "local"], 1]],
    ),
    "gptj": _causal("GPTJConfig", **_TEXT, n_embd=64, n_layer=2, n_head=4, rotary_dim=8),
    "gpt-neox": _causal("GPTNeoXConfig", **_TEXT, **_SMALL),
    "opt": _causal(
        "OPTConfig", **_TEXT, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128,
        word_embed_proj_dim=64,
    ),
    "bloom": _causal("BloomConfig", **_TEXT, hidden_size=64, n_layer=2, n_head=4),
    "falcon": _causal("FalconConfig", **_TEXT, hidden_size=64, num_hidden_layers=2, num_attention_heads=4),
    "llama": _causal("LlamaConfig", **_GROUPED),
    "mistral": _causal("MistralConfig", **_GROUPED, head_dim=16),
    "mixtral": _causal(  # the default grouped product has no rule for float32 on shapes in torch 2.13
        "MixtralConfig", **_GROUPED, head_dim=16, num_local_experts=4, experts_implementation="batched_mm"
    ),
    "qwen2": _causal("Qwen2Config", **_GROUPED),
    "gemma": _causal("GemmaConfig", **_GROUPED, head_dim=16),
    "phi": _causal("PhiConfig", **_TEXT, **_SMALL),
    "t5": _translating(
        "T5Config", **_TEXT, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0
    ),
    "bart": _translating("BartConfig", **_BART),
    "vit": _seeing("ViTConfig", **_SMALL, image_size=64, patch_size=16),
    "swin": _seeing("SwinConfig", image_size=64, embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4),
    "convnext": _seeing("ConvNextConfig", hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 2, 1]),
    "whisper": Architecture(
        config="WhisperConfig", model="WhisperForConditionalGeneration", inputs="sound",
        sizes={**_BART, "max_source_positions": 50, "max_target_positions": 64, "num_mel_bins": 16,
               "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
    ),
    "wav2vec2": Architecture(
        config="Wav2Vec2Config", model="AutoModelForAudioClassification", inputs="wave",
        sizes={**_SMALL, "conv_dim": (32,) * 3, "conv_stride": (5, 4, 4), "conv_kernel": (10, 8, 4),
               "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
               "apply_spec_augment": False},
    ),
}  # fmt: skip


def _tokens() -> torch.Tensor:
    return torch.randint(3, 500, (_BATCH, _TOKENS))


_INPUTS: Final[dict[str, Callable[[], dict[str, torch.Tensor]]]] = {
    "causal": lambda: {"input_ids": (ids := _tokens()), "labels": ids},
    "translating": lambda: {"input_ids": _tokens(), "labels": _tokens()},
    "image": lambda: {"pixel_values": torch.randn(_BATCH, 3, 64, 64), "labels": torch.zeros(_BATCH, dtype=torch.long)},
    "sound": lambda: {"input_features": torch.randn(_BATCH, 16, 100), "labels": _tokens()},
    "wave": lambda: {"input_values": torch.randn(_BATCH, 4000), "labels": torch.zeros(_BATCH, dtype=torch.long)},
}


def build_architecture(name: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The model and a batch, inputs and labels, on the default device. OptionError where Transformers is missing."""
    try:
        transformers = importlib.import_module("transformers")
    except ModuleNotFoundError as missing:
        raise OptionError("transformers is not installed", remedy="pip install transformers") from missing
    one = ARCHITECTURES[name]
    config = getattr(transformers, one.config)(**one.sizes)
    model_class = getattr(transformers, one.model)
    build = getattr(model_class, "from_config", None)
    model: torch.nn.Module = build(config) if build is not None else model_class(config)
    return model, _INPUTS[one.inputs]()

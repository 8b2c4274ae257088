"""Which cards can a name mean: as people write it, and as the driver, torch, nvidia-smi and Kineto print it?

Three tiers, the first that has candidates is the answer: the name or an alias as written (case, spaces, punctuation and
vendor words apart); all words of the name found in a card's name ("a100 80gb", "h100 sxm"), where a lone "rtx" more or
less does not count ("3090"); a card's model word found in the name ("NVIDIA A100-PG509-200"), which is a hint that
other facts must confirm. Names only: `catalog` weighs the candidates against the device's facts.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from surfer_lab.hardware.cards import Card

__all__ = ["GENERIC_NAMES", "Names", "compact"]

# what drivers print when they do not know the model: says nothing, other facts must
GENERIC_NAMES: Final = frozenset({"amdradeongraphics", "nvidiagraphicsdevice", "graphicsdevice", "gpu", "cuda", "hip"})

VENDOR_WORDS: Final = frozenset(
    {"nvidia", "amd", "geforce", "tesla", "instinct", "corporation", "gpu", "edition", "generation", "per", "gcd", "vf"}
)
FAMILY_WORDS: Final = frozenset({"rtx", "gtx"})  # "3090" means RTX 3090; "6000" without more is no single card
GLUED: Final = (
    (re.compile(r"\b(rtx|gtx|geforce|quadro|tesla|titan|instinct)(?=[a-z]?\d)"), r"\1 "),  # RTX3090
    (re.compile(r"(?<=\d)(ti|super|ada)\b"), r" \1"),  # 1080Ti
    (re.compile(r"\b(\d+) (?=gi?b\b)"), r"\1"),  # 80 GB
    (re.compile(r"(?<=\d)gib\b"), "gb"),
)
NEAR_COUNT: Final = 5
NEAR_CUTOFF: Final = 0.55  # difflib ratio under which a spelling is no near match


def compact(name: str) -> str:
    """The name's letters and digits in lower case.

    >>> compact("NVIDIA A100-SXM4-80GB")
    'nvidiaa100sxm480gb'
    """
    return re.sub(r"[\W_]", "", name.casefold())


def words_of(name: str) -> tuple[str, ...]:
    """The name's telling words, vendor words left out.

    >>> words_of("NVIDIA GeForce RTX3080Ti (12 GB)")
    ('rtx', '3080', 'ti', '12gb')
    """
    text = re.sub(r"[\W_]+", " ", name.casefold()).strip()
    for pattern, replacement in GLUED:
        text = pattern.sub(replacement, text)
    return tuple(word for word in text.split() if word not in VENDOR_WORDS)


class Names:
    """Candidates by name, over a fixed list of cards."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._exact: dict[str, list[Card]] = defaultdict(list)
        self._words: list[tuple[Card, frozenset[str]]] = []
        self._models: dict[str, list[Card]] = defaultdict(list)
        self._spellings: dict[str, str] = {}
        for card in cards:
            for spelling in (card.name, *card.aliases):
                self._spellings[compact(spelling)] = card.name
                if compact(spelling) not in GENERIC_NAMES:
                    self._add_exact(compact(spelling), card)
                    self._add_exact("".join(words_of(spelling)), card)
            words = words_of(card.name)
            alias_words = [word for alias in card.aliases for word in words_of(alias)]
            self._words.append((card, frozenset((*words, *alias_words, f"{card.memory_gb:g}gb"))))
            model = next((word for word in words if any(map(str.isdigit, word)) and not word.endswith("gb")), "")
            if model:
                self._models[model].append(card)

    def exact(self, name: str) -> list[Card]:
        """Cards whose name or alias this is."""
        return self._exact.get(compact(name)) or self._exact.get("".join(words_of(name))) or []

    def containing(self, name: str) -> list[Card]:
        """Cards whose name has all words of `name`; one alone where it adds nothing but "rtx"."""
        wanted = words_of(name)
        if not wanted:
            return []
        found = [(card, words) for card, words in self._words if all(_has(words, word) for word in wanted)]
        if not any(map(str.isdigit, compact(name))):  # "titan": a family, however short a member's name
            return [card for card, _ in found]
        plain = [card for card, _ in found if set(words_of(card.name)) - set(wanted) <= FAMILY_WORDS]
        return plain if len(plain) == 1 else [card for card, _ in found]

    def hinted(self, name: str) -> list[Card]:
        """Cards whose model word ("a100", "3090") stands in `name`: to be confirmed by other facts."""
        return [card for word in words_of(name) for card in self._models.get(word, ())]

    def near(self, name: str) -> list[str]:
        """Card names spelled much like `name`, nearest first."""
        hits = difflib.get_close_matches(compact(name), list(self._spellings), n=3 * NEAR_COUNT, cutoff=NEAR_CUTOFF)
        return list(dict.fromkeys(self._spellings[hit] for hit in hits))[:NEAR_COUNT]

    def _add_exact(self, key: str, card: Card) -> None:
        if key and card not in self._exact[key]:
            self._exact[key].append(card)


def _has(words: frozenset[str], wanted: str) -> bool:
    """A word of a card is meant by the same word, letters alone also by their beginning ("sxm" for "sxm4")."""
    return wanted in words or (wanted.isalpha() and len(wanted) > 2 and any(word.startswith(wanted) for word in words))

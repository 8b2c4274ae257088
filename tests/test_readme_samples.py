"""Are the README's samples what its commands print?"""

from __future__ import annotations

import pytest

from tools.write_readme_samples import README, SAMPLES, readme_with_samples


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_what_its_command_prints(name):
    text = README.read_text(encoding="utf-8")
    assert readme_with_samples(text, {name: SAMPLES[name]}) == text


def test_a_readme_without_the_place_is_refused():
    with pytest.raises(ValueError, match="sample example"):
        readme_with_samples("nothing", {"example": lambda: ""})

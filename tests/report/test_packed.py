"""What travels packed in an HTML text: read again as it was, closed to markup whatever it holds."""

from __future__ import annotations

import base64
import json
import re
import zlib

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.report.packed import packed_json

TEXTS = st.text(max_size=50) | st.sampled_from(["</script>", "<!--", "]]>"])


@given(st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_what_is_packed_is_read_again_and_is_one_element_of_plain_letters(value):
    written = packed_json(value, class_="s-data")
    inside = re.fullmatch(r'<script type="application/octet-stream" class="s-data">([A-Za-z0-9+/=]+)</script>', written)
    assert inside
    assert json.loads(zlib.decompress(base64.b64decode(inside[1]))) == value

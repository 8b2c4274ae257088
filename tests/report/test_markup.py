"""No string that is given can become markup."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.report.markup import join, tag


class Reader(HTMLParser):
    """Collects what a browser would see as elements and as text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.attributes = [], "", {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.update(attrs)

    def handle_data(self, data):
        self.text += data


# HTML has no way to write NUL and reads carriage returns as line ends: names are freed of both before
printable = st.text(st.characters(blacklist_categories=["Cc", "Cs"]))


@given(printable, printable)
def test_text_and_attributes_come_back_as_they_were_given(text, attribute):
    read = Reader(tag("td", text, title=attribute))
    assert read.elements == ["td"]
    assert read.text == text
    assert read.attributes == {"title": attribute}


def test_children_may_be_lists_and_nothing():
    assert join(["a<", None, [tag("b", "c"), "d"]]) == "a&lt;<b>c</b>d"
    assert tag("input", type="checkbox", hidden=True, value=None) == '<input type="checkbox" hidden>'

"""In which form is a file written? In that of its name's ending; nothing is made before the ending is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from surfer_lab.errors import OptionError

__all__ = ["write_form"]


def write_form(path: str | Path, forms: Mapping[str, Callable[[], str | bytes]], *, what: str) -> Path:
    """Write what the form of the ending makes, and return the path. `what` is in words: "a report".

    Refused (OptionError): an ending that no form has, a place that cannot be written.
    """
    target = Path(path)
    ending = target.suffix.lower()
    form = forms.get(".html" if ending == ".htm" else ending)
    if form is None:
        raise OptionError(
            f"{what} cannot be written as {target.name!r}", remedy="a name that ends in " + ", ".join(forms)
        )
    try:
        written = form()
        target.write_bytes(written.encode("utf-8") if isinstance(written, str) else written)
    except OSError as error:
        raise OptionError(f"{target} cannot be written ({error.strerror})", remedy="another folder or name") from error
    return target

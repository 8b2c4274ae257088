"""What does `jupyter nbconvert --to surfer_report` write? One HTML file with every prediction of the notebook.

Also under File > Save and Export Notebook As in JupyterLab. Read from the outputs' own JSON, so a notebook that was run
by `--execute`, which stores widgets that no file can draw, gives the same report as one saved in JupyterLab.
"""

from __future__ import annotations

from typing import Any

from nbconvert.exporters.exporter import Exporter
from nbformat import NotebookNode
from traitlets import default

from surfer_lab.errors import SurferError
from surfer_lab.report.dates import today_words
from surfer_lab.report.document import html_document
from surfer_lab.report.stored import stored_views

__all__ = ["SurferReportExporter"]


class SurferReportExporter(Exporter):
    """A notebook's predictions as one self-contained file. Refuses (OptionError) a notebook without one."""

    export_from_notebook = "Surfer Lab report"
    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension(self) -> str:
        return ".surfer.html"

    def from_filename(  # type: ignore[override] # text, as its own exporters of text return it
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """As `from_notebook_node`. On the command line a refusal is its sentence and status 1, not a traceback."""
        from nbconvert.nbconvertapp import NbConvertApp  # it imports all exporters, this one too

        try:
            return super().from_filename(filename, resources, **kw)  # type: ignore[return-value]
        except SurferError as error:
            if NbConvertApp.initialized() and getattr(NbConvertApp.instance(), "exporter", None) is self:
                raise SystemExit(str(error)) from None
            raise

    def from_notebook_node(  # type: ignore[override] # text, as its own exporters of text return it
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """The report, after the preprocessors that were asked for (`--execute`) have run."""
        executed, given = super().from_notebook_node(nb, resources, **kw)
        name = str(given.get("metadata", {}).get("name") or "notebook")
        found = stored_views(executed, name=name)
        return html_document(found.views, title=name, made_on=today_words(), notes=found.unread), given

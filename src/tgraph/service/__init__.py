"""Long-lived use of graphs: results that stay current, sources of batches, and a journal of what was applied."""

from tgraph.service.streams import KeptResult, Stream, Update, stream

__all__ = ["KeptResult", "Stream", "Update", "stream"]

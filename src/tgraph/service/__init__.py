"""Long-lived use of graphs: results that stay current, sources of batches, and a journal of what was applied."""

from tgraph.service.batch_sources import batches, read_stream
from tgraph.service.streams import KeptResult, Stream, Update, stream

__all__ = ["KeptResult", "Stream", "Update", "batches", "read_stream", "stream"]

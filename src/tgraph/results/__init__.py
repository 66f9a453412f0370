"""What a run returns: values under the user's ids, and the trace of how it got there."""

from tgraph.results.result import Result
from tgraph.results.trace import Iteration, Trace

__all__ = ["Iteration", "Result", "Trace"]

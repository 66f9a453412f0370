"""The command line: `tgraph <verb> FILE`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an error is one sentence on stderr and exit code 2, Ctrl-C one and exit code 130."""
    from tgraph.cli.app import app
    from tgraph.cli.interrupt import Interrupted
    from tgraph.errors import TGraphError

    try:
        app()
    except Interrupted as interrupt:
        print(f"tgraph: {interrupt}; {interrupt.left}", file=sys.stderr)
        sys.exit(130)
    except (TGraphError, OSError) as error:
        print(f"tgraph: {error}", file=sys.stderr)
        sys.exit(2)

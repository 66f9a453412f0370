"""Benchmarks: every algorithm against every peer that is installed, on the same graphs, with checked answers.

`tgraph bench` runs them; `tgraph.bench.run.run_benchmarks` is the same from Python. Nothing else imports this package.
"""

"""The script and its cases are no tests, and need triton."""

collect_ignore = ["compile_ahead.py", "launched_cases.py"]

"""The dispatch names that the back end serves, ascending; `tests/interop/networkx` compares them with the functions."""

NAMES: tuple[str, ...] = ()

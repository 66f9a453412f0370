"""What runs a program: one file per engine, found by its name."""

"""Load, decide, apply: `policy` is pure, `loop` does the I/O."""

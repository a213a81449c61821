"""Where tasks run. `base` is the contract, `registry` finds an engine by name."""

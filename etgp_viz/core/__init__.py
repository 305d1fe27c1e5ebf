"""The ETGP model itself; read this first (docs/reading_the_core.md leads through it)."""

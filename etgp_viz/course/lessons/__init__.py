"""The exercises, one module per lesson."""

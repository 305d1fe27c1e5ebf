"""The pictures in matplotlib, for slides and papers; one module per story."""

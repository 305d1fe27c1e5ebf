"""The numbers behind each picture, one module per story."""

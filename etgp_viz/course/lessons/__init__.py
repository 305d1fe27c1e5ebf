"""The exercises, one module per lesson.

Models, and with them TensorFlow, are loaded when an answer is checked.
"""

"""The notebooks in a real JupyterLab, driven in a real browser."""

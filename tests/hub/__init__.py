"""A real JupyterHub with three students."""

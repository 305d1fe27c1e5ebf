"""A class on one machine: the JupyterHub recipe, its memory plan, and kernels that start warm."""

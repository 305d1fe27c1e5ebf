"""Everything that leans on plotly's internals."""

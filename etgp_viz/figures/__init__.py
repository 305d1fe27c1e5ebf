"""Pictures, one module for each family: ``make(record) -> Figure`` and ``update(fig, record)``."""

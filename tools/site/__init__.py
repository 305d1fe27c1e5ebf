"""The documentation site: `make docs` builds it into build/docs.

The pages of `docs/` are Markdown that can be read as it is. A comment such as
``<!-- site: gallery -->`` says where the site adds what only code can make: pictures, sliders, the
reference, results and claims. Nothing of that is stored, so nothing of it can become stale.
"""

"""Three kinds of tests, a folder each: unit, notebooks and browser."""

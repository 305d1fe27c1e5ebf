"""The course as files to hand out: notebooks, handouts and slides."""

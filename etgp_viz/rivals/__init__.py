"""The models that ETGP is compared with.

names        every model by name, without TensorFlow
build_model  any model by its name
svgp         SVGPs with one latent process per class, and TGP
kernels      kernels that GPflow lacks, and C kernels and processes in batched operations
"""

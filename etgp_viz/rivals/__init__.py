"""The models that ETGP is compared with.

names          every model by name, and what it can do, without TensorFlow
build_model    any model by its name
svgp           SVGPs with one latent process per class, and TGP
robust_max     an SVGP with a likelihood that needs no Monte Carlo
deep_kernel    an SVGP on the features of a network
kernels        kernels that GPflow lacks, and C kernels and processes in batched operations
network        an ETGP's network without its Gaussian process
off_the_shelf  classifiers of scikit-learn
"""

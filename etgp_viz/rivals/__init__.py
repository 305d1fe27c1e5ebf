"""The models that ETGP is compared with."""

"""Extensions of ETGP, of which the core knows nothing."""

"""The guided tours of the explorers: one for each, as presets with steps."""

from etgp_viz.explorers.presets import Preset, Step

POSTERIOR = Preset(
    "How does a Gaussian process learn from observations?",
    {"observations": (), "noise": 0.0},
    "Functions",
    (
        Step("Nothing has been observed yet. Each thin line is a function that the prior thinks "
             "possible, and at each x about 95 % of them lie in the shaded band.", "functions"),
        Step("Observe something: click into the picture, or press add.", "observations",
             until=lambda state: len(state.observations) > 0, move={"observations": (0.5, 1.0)},
             then="Every function that misses your observation is gone. The band closes there, and "
                  "far away it is as wide as before."),
        Step("How far does one observation reach? Raise the lengthscale to 3 or more.",
             "lengthscale",
             until=lambda state: state.lengthscale >= 3.0, move={"lengthscale": 3.0},
             then="With a longer lengthscale, distant values are still correlated: one observation "
                  "narrows the band almost everywhere."),
        Step("Observations are seldom exact. Raise the noise to 0.5 or more.", "noise",
             until=lambda state: state.noise >= 0.5, move={"noise": 0.5},
             then="The band no longer closes at the observation: it could be wrong."),
        Step("Nine observations, and a lengthscale that is far too short. The curve on the right "
             "is the log marginal likelihood of each lengthscale. Move the lengthscale near its "
             "maximum (★).", "lengthscale",
             {"observations": (-3.4, -0.3, -2.7, -1.0, -2.0, -0.8, -1.3, 0.1, -0.6, 0.9, 0.1, 1.0,
                               0.8, 0.3, 1.5, -0.6, 2.2, -1.1),
              "lengthscale": 0.15, "noise": 0.1, "kernel": "rbf", "combine": "alone"},
             view="Evidence",
             until=lambda state: 0.9 <= state.lengthscale <= 1.6, move={"lengthscale": 1.2},
             then="If it is too short, a bump of its own explains each observation; if it is too "
                  "long, the function cannot bend enough. The marginal likelihood weighs both."),
    ),
)  # fmt: skip

FLOW = Preset(
    "What does a flow do to a Gaussian process?",
    {"linear_a": (1.0,) * 5, "linear_b": (0.0,) * 5},
    "Draws",
    (
        Step("The grey lines are draws of f₀, a Gaussian process. The blue ones are f = a·f₀ + b. "
             "With a = 1 and b = 0 they lie on top of each other.", "paths"),
        Step("Raise the shift b to 2 or more.", "linear_b",
             until=lambda state: min(state.linear_b) >= 2.0, move={"linear_b": (2.0,) * 5},
             then="Every draw moves up by the same amount. Nothing else changes."),
        Step("Now make the scale a negative: −1 or lower. What happens to the peaks?", "linear_a",
             until=lambda state: max(state.linear_a) <= -1.0, move={"linear_a": (-1.0,) * 5},
             then="Peaks become troughs. Each value is still Gaussian: a straight line cannot "
                  "change that."),
        Step("The scale now grows with x. The covariance of f₀ (left) is the same all along each "
             "diagonal. Is that of f (right)? Decide, then look at the answer.", "covariance",
             {"flow": "linear", "source": "profiles", "linear_a": (0.1, 0.4, 1.0, 1.8, 3.0),
              "linear_b": (0.0,) * 5},
             then="No: values on the right vary far more than those on the left. A flow that "
                  "depends on x makes a stationary process non-stationary."),
        Step("This flow can bend. Move the skew a to −1 or lower, and watch the density.", "sal_a",
             {"flow": "sal", "source": "profiles", "sal_a": (0.0,) * 5}, view="The flow",
             until=lambda state: max(state.sal_a) <= -1.0, move={"sal_a": (-1.0,) * 5},
             then="The density leans, with a long tail to the right: this process is no longer "
                  "Gaussian."),
        Step("In an ETGP nobody moves these sliders: a network turns x into all the parameters. "
             "This one has random weights. Set the amount of change to 0. What is left?", "amount",
             {"flow": "sal+linear", "source": "network", "network_seed": 3, "amount": 1.0},
             view="The flow",
             until=lambda state: state.amount == 0.0, move={"amount": 0.0},
             then="Every parameter is constant and the flow changes nothing: f is f₀ again. "
                  "Training starts here."),
    ),
)  # fmt: skip

SHARED_LATENT = Preset(
    "How can one Gaussian process serve many classes?",
    {"amount": 0.0},
    "One latent, C classes",
    (
        Step("Four classes, one latent f₀. The flows change nothing yet, so every process is f₀ "
             "itself.", "processes"),
        Step("How probable is each class now? Decide, then look at the answer.", "probabilities",
             then="A quarter each, at every x. Softmax sees only differences between the "
                  "processes, and there are none."),
        Step("Raise the variation to 1 or more: each class gets a flow of its own.", "amount",
             until=lambda state: state.amount >= 1.0, move={"amount": 1.0},
             then="The processes part, and some classes become more probable than others. There is "
                  "still one f₀."),
        Step("Press resample for another draw of f₀. Which processes move?", "resample",
             {"model": "etgp"}, view="One latent, C classes", until="resample",
             then="All of them: they are made from the same f₀."),
        Step("Each dot is a joint draw of two classes at the marked x. Why do the dots lie on "
             "curves?", "picture: pivot",
             then="Both values come from the single number f₀(x). If you know one class, you know "
                  "all the others."),
        Step("Give each class a latent of its own: choose independent GPs.", "model",
             view="One class gives all",
             until=lambda state: state.model == "independent", move={"model": "independent"},
             then="The curves are gone and the dots are a cloud: one class says nothing about "
                  "another."),
        Step("Back to ETGP. Raise the number of classes to 12 or more.", "classes",
             {"model": "etgp", "classes": 4}, view="One latent, C classes",
             until=lambda state: state.classes >= 12, move={"classes": 12},
             then="Twelve processes, and still one Gaussian process to learn. That is why an ETGP "
                  "can afford many classes."),
    ),
)  # fmt: skip

COVARIANCE = Preset(
    "What does one shared latent say about the covariance of two classes?",
    {},
    "From K",
    (
        Step("On the left is K, the covariance of f₀ with itself. With linear flows, the "
             "covariance of two classes is K times the scale of one class at x and the scale of "
             "the other at x′. That is Proposition 1.", "latent"),
        Step("Class 1 has scale 1 everywhere; the scale of class 2 grows with x. Where is their "
             "covariance largest?", "analytic",
             then="In the corner where both inputs are 3: K is largest where they are equal, and "
                  "the scale of class 2 is largest there."),
        Step("Lower the scale of class 2 until it is −1 on average. What becomes of the "
             "covariance?", "a2",
             {"family": "linear", "a2": (0.3, 0.6, 1.0, 1.4, 1.7)}, view="From K",
             until=lambda state: sum(state.a2) <= -4.9, move={"a2": (-1.7, -1.4, -1.0, -0.6, -0.3)},
             then="It changes its sign. The two classes now have a correlation of −1 at every "
                  "input: one goes up when the other goes down."),
        Step("Is the formula right? Draws of the same processes give an estimate. (Another view "
             "shows how many standard errors apart the two are.) Take 20 000 draws.", "draws",
             {"draws": 2000}, view="Formula and Monte Carlo",
             until=lambda state: state.draws == 20000, move={"draws": 20000},
             then="The estimate comes closer to the formula, and the difference is what chance "
                  "alone would give. The sentence at the top says how much that is."),
        Step("These flows bend, class 1 to the right and class 2 to the left. Each dot is a joint "
             "draw of both. Their correlation is below 1: does class 1 still determine class 2?",
             "together",
             {"family": "sal", "amount": 1.0, "tails": 1.4, "skew1": -2.0, "skew2": 2.0,
              "a1": (1.0,) * 5, "a2": (1.0,) * 5, "draws": 2000, "view": "pair", "c": 1, "d": 2},
             then="Yes: the dots lie on one curve. A correlation below 1 only says that the curve "
                  "is not a straight line."),
        Step("Straighten it: set the non-linearity to 0.", "amount", view="Two classes at one x",
             until=lambda state: state.amount == 0.0, move={"amount": 0.0},
             then="The dots lie on a straight line, and the correlation is 1 again."),
    ),
)  # fmt: skip

INFERENCE = Preset(
    "How does an ETGP learn?",
    {},
    "Regions and ELBO",
    (
        Step("Three spirals, and a model after its first steps. The colour at each place is that "
             "of the most probable class, pale where the model is unsure. Crosses are inducing "
             "points.", "point"),
        Step("Press play, and watch the regions.", "play", until="play",
             then="The regions close in on the arms, and the inducing points move to where they "
                  "are needed."),
        Step("Training maximises the ELBO: how well the model explains the data, minus what it "
             "pays for leaving the prior (KL). Which of the two makes the ELBO climb?", "elbo",
             then="The fit to the data. The KL settled in the first steps and hardly moves now."),
        Step("Add points while it trains: choose a class, then click or drag in the picture, or "
             "type x₁ and x₂ and press add.", "added", {"added": ()},
             view="Regions and ELBO",
             until=lambda state: len(state.added) > 0, move={"added": (0.5, 0.5, 2)},
             then="Nothing that was learnt is lost: training goes on with your points."),
        Step("Changed your mind? Press undo.", "undo", until="undo",
             then="Undo takes back any change of points, model or training."),
        Step("How many Gaussian processes does this model have?", "latent",
             then="One. The three processes beside it are that one, bent by three flows. With "
                  "eight classes there would still be one."),
    ),
)  # fmt: skip

TIMING = Preset(
    "What do more classes cost?",
    {"predict": True, "show_guess": True, "guess_etgp": 2.0, "guess_svgp": 0.0},
    "Over classes C",
    (
        Step("You see the time of one training step with the smallest number of classes. Both axes "
             "are logarithmic: slope 0 is flat, slope 1 doubles when C doubles.",
             "picture: classes"),
        Step("An SVGP has one Gaussian process for each class. How steep will its line be? Set "
             "your slope.", "guess_svgp", {"guess_svgp": 0.0},
             until=lambda state: state.guess_svgp > 0.0, move={"guess_svgp": 1.0}),
        Step("And ETGP, which has one Gaussian process for all classes? Slope 2 is surely too "
             "steep: set yours.", "guess_etgp", {"guess_etgp": 2.0},
             until=lambda state: state.guess_etgp < 2.0, move={"guess_etgp": 0.3}),
        Step("Now press reveal.", "reveal", {"predict": True}, until="reveal",
             then="The truth is drawn over your lines. Your score is in the sentence at the top."),
        Step("Why does the line of ETGP climb so little?", "picture: classes", {"predict": False},
             then="The Gaussian process, with its large matrices, is the same for any C. Only the "
                  "flows and the softmax grow."),
        Step("Time is not everything: choose the peak memory of a step.", "quantity",
             {"predict": False, "show_guess": False, "quantity": "step"},
             until=lambda state: state.quantity == "memory", move={"quantity": "memory"},
             then="C processes keep C sets of matrices for the gradient; ETGP keeps one."),
    ),
)  # fmt: skip

RESULTS = Preset(
    "How do you read a comparison of models?",
    {},
    "Scores",
    (
        Step("Each mark is a model: its mean test accuracy over seeds, with an error bar. Higher "
             "is better.", "scores"),
        Step("Would the order be the same with other seeds? Lengthen the error bars to 2 standard "
             "errors.", "bars", {"metric": "accuracy", "bars": 1.0}, view="Scores",
             until=lambda state: state.bars >= 2.0, move={"bars": 2.0},
             then="Where bars overlap a lot, chance may have decided. With few seeds the bars "
                  "themselves are uncertain."),
        Step("Accuracy does not ask how sure a model was. Choose the log-likelihood.", "metric",
             {"bars": 1.0}, view="Scores",
             until=lambda state: state.metric == "log_likelihood",
             move={"metric": "log_likelihood"},
             then="Being sure and wrong is expensive here. Has the order changed?"),
        Step("When a model says 80 %, is it right in 80 % of the cases? Choose the calibration "
             "error.", "metric", view="Scores",
             until=lambda state: state.metric == "ece", move={"metric": "ece"},
             then="Lower is better, but even an honest model does not reach 0: the grey lines show "
                  "what chance alone gives."),
        Step("The same question for one run. What does it mean if its line lies below the "
             "diagonal?", "reliability",
             then="It is right less often than it says: it is overconfident."),
        Step("The rows that this run gets wrong with the greatest confidence. Could you have done "
             "better?", "hardest"),
    ),
)  # fmt: skip

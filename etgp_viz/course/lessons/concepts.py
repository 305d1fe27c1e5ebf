"""Exercises of all lessons that are answered by letters: choices, orders of lines, bugs."""

from etgp_viz.course.choices import find_the_bug, multiple_choice, parsons

__all__ = [
    *("AVERAGING", "CLOCK", "CONSTANT_CLASSIFIER", "CONTRIBUTION"),
    *("DERIVATION", "MASKS", "SAMPLING"),
]

SAMPLING = parsons(
    "02.6",
    "These lines draw a function from a warped Gaussian process at N inputs, but they are in the "
    "wrong order, and two of them do not belong. Give the letters of the right lines from top to "
    "bottom.",
    {
        "A": "`f = flow.forward(f0, params)`",
        "B": "`K = kernel(x)`, the N×N covariance of f₀",
        "C": "`f0 = L @ noise`",
        "D": "`K = flow.forward(K, params)`",
        "E": "`noise = rng.standard_normal(N)`",
        "F": "`L = np.linalg.cholesky(K)`",
        "G": "`f = f - flow.log_derivative(f0, params)`",
    },
    "BFECA",
    {
        "the covariance bent": (
            "BDFEC",
            "D bends the entries of a covariance matrix. A flow acts on values of the process; the "
            "covariance of the warped process is another calculation, and not needed for drawing.",
        ),
        "a density correction": (
            "BFECAG",
            "G belongs to densities. A draw is just sent through the flow: nothing has to be "
            "corrected, because nothing is being divided by an interval.",
        ),
        "the flow before the root": (
            "BFEAC",
            "The noise has to become a draw of f₀ before it can be bent: C comes before A.",
        ),
        "no flow": ("BFEC", "This is a draw of f₀ itself. The flow is still missing."),
    },
    "Drawing from a warped process is drawing from a Gaussian process and bending the result: "
    "draw, then G. The noise may be drawn at any point before it is used.",
    (
        "What do you need for a draw of f₀? Lesson 01 made one from a covariance and noise.",
        "The flow comes last. Two lines treat something as a value that is not one.",
        "B, then F, and the draw of f₀ before the flow.",
    ),
    also=("EBFCA", "BEFCA"),
)

MASKS = multiple_choice(
    "03.5",
    "A network with dropout 0.3 is trained on 1000 rows and then on 100 000 rows of the same kind. "
    "In both cases you draw 500 masks and look at how far the shift b(x) moves from mask to mask. "
    "What does this spread tell you?",
    [
        (
            "How uncertain the network is, so it is about ten times as small with the larger data.",
            "That would be true of a posterior, which narrows like 1/√N. But the masks are drawn "
            "with the same rate however much data there is: nothing in that rate can narrow.",
        ),
        (
            "How far x is from the training data: the spread is large where there are none.",
            "A mask does not know where the data were. Far away, the hidden units saturate, and "
            "the spread becomes constant; it need not be large.",
        ),
        (
            "How much the value relies on individual hidden units. With more data it may grow "
            "or shrink.",
            "",
        ),
        (
            "Nothing at all: it is pure noise from the masks.",
            "It does tell something: how much a prediction changes when some units are missing, "
            "and so how much it relies on individual units. It just does not say what the data "
            "have settled.",
        ),
    ],
    "C",
    "How the masks are drawn is fixed before the first row is seen. Training can choose weights "
    "for which the masks do less harm, but it cannot make the masks rarer, so dropout at a fixed "
    "rate does not concentrate as data come in. Lesson 05 measures it.",
    (
        "Which number in dropout depends on N?",
        "None: the rate is chosen beforehand. So what is left that training can change?",
        "The weights. They decide how much one missing unit matters.",
    ),
)

CONSTANT_CLASSIFIER = multiple_choice(
    "04.6",
    "Back to the question at the top. A colleague says: “You put *one* random function into all C "
    "classes. A softmax does not notice a function that is added to every class. So your "
    "classifier says 1/C everywhere.” Which reply is right?",
    [
        (
            "The colleague is right about the prior, but after training each class has its own f₀.",
            "There is one f₀ before training and one after it. Training learns one belief about "
            "it, and the flows.",
        ),
        (
            "The colleague is right if all flows are the same. Different scales make f₀ count, and "
            "different shifts tell classes apart even without it.",
            "",
        ),
        (
            "The colleague is wrong, because a softmax is not linear.",
            "Linear or not, a softmax of C equal numbers is 1/C. The values must differ, and it is "
            "the flows that make them differ.",
        ),
        (
            "The colleague is wrong as long as the flows are curved; with linear flows the "
            "objection holds.",
            "Linear flows are enough: softmax(2f₀, −f₀) is not ½ unless f₀ = 0. What matters is "
            "that the flows of different classes differ.",
        ),
    ],
    "B",
    "With equal flows, f₀ is indeed one function added to all classes, and the softmax cannot see "
    "it. Scales that differ between classes turn differences of f₀ into differences between "
    "classes; shifts that differ do so on their own, and they come from the network alone.",
    (
        "Write down softmax(f₀, f₀, f₀). Then softmax(2f₀, 0, −f₀).",
        "Which differences between classes does a softmax see, and where do they come from?",
        "fᶜ − fᵈ = (aᶜ − aᵈ)·f₀ + (bᶜ − bᵈ).",
    ),
)

DERIVATION = parsons(
    "05.3",
    "Put the derivation of the bound in order. Each line follows from the one before it; two lines "
    "are false and do not belong. Begin with A.",
    {
        "A": r"$\log p(y) \ge \mathrm E_q\big[\log p(y \mid f) + \log \tfrac{p(f, u)}{q(f, "
        r"u)}\big]$ (Jensen)",
        "B": r"$= \mathrm E_q[\log p(y \mid f)] - \mathrm{KL}[q(u_0)\,\|\,p(u_0)]$, because $u$ "
        "and $u_0$ are linked by one invertible map",
        "C": r"$= \sum_n \mathrm E_{q(f_0(x_n))}\big[\log \pi^{y_n}(x_n)\big] - "
        r"\mathrm{KL}[q(u_0)\,\|\,p(u_0)]$, because each row looks at $f_0$ at its own input only",
        "D": r"$= \mathrm E_q[\log p(y \mid f)] - C\cdot\mathrm{KL}[q(u_0)\,\|\,p(u_0)]$, one for "
        "each class",
        "E": r"$= \mathrm E_q\big[\log p(y \mid f) + \log \tfrac{p(u)}{q(u)}\big]$, because "
        r"$q(f, u) = p(f \mid u)\,q(u)$",
        "F": r"$= \mathrm E_q[\log p(y \mid f)] - \mathrm{KL}[q(u_0)\,\|\,p(u_0)] - \mathrm E_q\log"
        r"|dG^1/du_0|$, the Jacobian of the pivot",
    },
    "AEBC",
    {
        "C times the KL": (
            "AEDC",
            "D counts one KL for each class. All C warped vectors come from one u₀, and a KL does "
            "not change when both distributions go through the same invertible map: one KL "
            "remains.",
        ),
        "a Jacobian left over": (
            "AEFC",
            "F keeps a Jacobian. It stands in q and in p alike, so it cancels in their ratio.",
        ),
        "rows before the choice of q": (
            "ACEB",
            "C already has the KL in it. First the choice of q has to remove p(f | u), and then "
            "the KL has to become one of u₀.",
        ),
        "u₀ before the conditional": (
            "ABEC",
            "B comes too early: as long as p(f | u) has not cancelled, the ratio is not one of u "
            "alone.",
        ),
    },
    "Jensen gives a bound; choosing q like the prior removes the conditional; one invertible map "
    "links u and u₀ under both distributions, which leaves one KL; and each row needs f₀ at one "
    "input only.",
    (
        "What does the choice q(f, u) = p(f | u)·q(u) remove from the ratio in A?",
        "After that only u is left in the ratio. What do u and u₀ have to do with each other?",
        "A, then E. The lines with a factor C and with a Jacobian are the false ones.",
    ),
)

AVERAGING = find_the_bug(
    "05.6",
    "This code should compute the Bayesian average (BA) for N rows: probabilities averaged over 20 "
    "draws of the network. It runs, and its rows add up to one, but they are not the Bayesian "
    "average. Which line is wrong?",
    "    def bayesian_average(model, X):\n"
    "A      mean, variance = model.predict_latent(X)               # q(f0), each [N, 1]\n"
    "B      theta = tf.reduce_mean(model.network(X, samples=20), 0)  # [N, C, P]\n"
    "C      f0 = mean + tf.sqrt(variance) * nodes                   # [N, Q]\n"
    "D      f = flow.forward(f0[:, :, None], theta[:, None])        # [N, Q, C]\n"
    "E      p = tf.nn.softmax(f)                                    # [N, Q, C]\n"
    "F      return tf.einsum('q,nqc->nc', weights, p)               # [N, C]",
    {
        "A": "A is right: the belief about f₀ does not depend on the network, so it is computed "
        "once for all draws.",
        "C": "C is right: these are the quadrature nodes on the axis of f₀, with the standard "
        "deviation in front of them.",
        "D": "D is right: every class bends the same nodes.",
        "E": "E is right: the softmax runs over the last axis, the classes.",
        "F": "F is right: probabilities are averaged over the nodes with their weights.",
    },
    "B averages the *parameters* of the flows over the draws, and the softmax then sees one "
    "average network. BA averages the probabilities: keep the 20 draws up to E, and take the mean "
    "over them at the end.",
    (
        "What exactly is averaged in BA: parameters, processes or probabilities?",
        "Follow the number 20 through the shapes. Where does it disappear?",
        "It disappears in the second line, before the softmax.",
    ),
)

CLOCK = find_the_bug(
    "06.5",
    "A colleague measures how much faster ETGP is than an SVGP, and reports a factor of 40. The "
    "models are right. Which line spoils the measurement?",
    "    for C in (2, 10, 50):\n"
    "        for name in ('etgp-linear', 'svgp-batched'):\n"
    "A           model = build(name, X, C, num_inducing=100)\n"
    "B           step = training_step(model, (X, Y))    # compiles when it is first called\n"
    "C           start = time.perf_counter()\n"
    "D           step()\n"
    "E           seconds[name, C] = time.perf_counter() - start",
    {
        "A": "A is right: both models get the same inputs and the same number of inducing points.",
        "B": "B only prepares the step. That it compiles when it is first called is a fact to be "
        "taken into account, further down.",
        "C": "C is right: it reads a wall clock with a fine resolution.",
        "E": "E is right: a difference of two readings of the same clock.",
    },
    "D times the *first* call, in which the step is traced and compiled; that takes far longer "
    "than a step and grows with the number of operations in the graph. Call the step once or twice "
    "before the clock starts, then time several calls, take their median, and let the models take "
    "turns.",
    (
        "What happens the first time that a compiled step is called?",
        "Compare the columns of the explorer: *step* and *first call (tracing)*.",
        "The step is called for the first time between the two readings of the clock.",
    ),
)

CONTRIBUTION = multiple_choice(
    "07.6",
    "In a trained ETGP, setting f₀ to 0 costs 0.30 nats per row on test rows. Setting f₀ to its "
    "mean µ(x) costs 0.01 nats. The same network trained without any Gaussian process scores as "
    "well as the whole ETGP. What follows?",
    [
        (
            "The Gaussian process is worth 0.30 nats per row on these data.",
            "The network had no chance to make up for what was taken away. When it is trained "
            "alone, it does: the fair control shows no gain.",
        ),
        (
            "The Gaussian process does nothing in this model and could be deleted after training.",
            "Deleting it after training costs 0.30 nats: *this* model relies on it. It is a "
            "network that was trained without it that does as well.",
        ),
        (
            "The uncertainty of f₀ is worth 0.30 nats.",
            "That is what its mean and its uncertainty are worth together. With the mean kept and "
            "the uncertainty removed, only 0.01 is lost.",
        ),
        (
            "This model uses f₀ as one more function of x. A network alone could have done the "
            "same, and the uncertainty of f₀ hardly reaches the predictions.",
            "",
        ),
    ],
    "D",
    "Three numbers answer three questions: what this model loses without f₀, what the uncertainty "
    "of f₀ is worth, and whether a network alone would have done. Only the last is a fair control.",
    (
        "Which of the three comparisons gives the network a chance to learn without f₀?",
        "If µ(x) can stand in for f₀, what was the uncertainty of f₀ worth?",
        "The control scores as well, and the uncertainty is worth 0.01 nats.",
    ),
)

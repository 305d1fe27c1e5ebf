"""Exercises of several lessons that are answered in words and ask why something is so."""

from etgp_viz.course.explanations import Idea, explain_why

__all__ = ["FAR_AWAY", "NEVER_INDEPENDENT", "STILL_STATIONARY", "WHAT_GROWS"]


def _then(first: str, second: str) -> str:
    """An expression for some words followed by others, with no comma between them."""
    return f"(?:{first})[^,]*?(?:{second})"


def _any(*expressions: str) -> str:
    return "|".join(expressions)


# What is talked about, in the words that students use.
_MEAN = r"\bmeans?\b|\baverage\b|\blevel\b|\bexpect|\be\[f"
_SHIFT = r"\bb ?\(x\)|\bshift"
_VARIES = r"\bvar(?:y|ies)|chang|\bris|grow|depend|differ|\bmov|increas|drift|follow"
_LATENT = r"\bf0|latent|\bgps?\b|gaussian process"
_DRAW = rf"{_LATENT}|\bdraw|random(?:ness| function| number| variable)"
_NETWORK = r"\bnetwork|\bflow|\bshift|\boffset|\bb\(x\)|\btanh|\bunits?\b"
_OTHER = r"\b(?:other|second|rest|f2)\b"
_GP_WORK = r"\bm\^?3|\bgps?\b|gaussian process|cholesky|factor|kernel|latent|inducing|matri"
_PER_CLASS = r"\bflows?\b|\bnetwork|\boutput layer|\bsoftmax"
_GROWS = r"grow|depend|increas|linear|\bris|scale|change"

STILL_STATIONARY = explain_why(
    "03.6",
    "The scale is a(x) = 1 everywhere, and the shift b(x) rises from left to right. A friend looks "
    "at the covariance matrix of f, sees that it is constant along every diagonal, and says: “So f "
    "is stationary.” Is the friend right? Say why.",
    ideas=(
        Idea(
            "f is not stationary",
            "Is f stationary or not? Say so.",
            "This process is not stationary.",
            says=r"non-?stationary|\b(?:wrong|mistaken)\b",
            denies=r"\bstationary|\bright\b|\bcorrect\b|^no\b",
        ),
        Idea(
            "the mean changes along x",
            "Stationarity asks for two things. The covariance is one of them: what is the other, "
            "and what does b(x) do to it?",
            "The mean is b(x), which changes along x.",
            says=_any(_then(_MEAN, _any(_VARIES, _SHIFT)), _then(_SHIFT, _MEAN)),
            denies=_any(
                _then(_MEAN, "constant|same|fixed|stationary|is not$"),
                _then("constant|same|fixed", _MEAN),
            ),
        ),
    ),
    misconceptions=(
        Idea(
            "a stationary covariance is enough",
            "A covariance that depends on x − x′ alone is half of the definition in lesson 01.",
            "The process is stationary.",
            says=r"^yes\b|\b(?:friend|he|she) is (?:right|correct)"
            r"|(?<!f0 )(?<!latent )(?<!kernel )(?<!covariance )(?<!matrix )\b(?:is|stays|remains)"
            r" (?:still )?stationary",
        ),
        Idea(
            "the shift changes the covariance",
            "The covariance does not notice a shift: subtract the mean, and b(x) is gone. The "
            "matrix that the friend looked at is right.",
            "The covariance changes with the shift.",
            says=_then(r"\b(?:co)?variances?\b", r"\bvar(?:y|ies)|chang|differ|grow"),
        ),
    ),
    model_answer="No, f is not stationary: its mean b(x) changes along x, although the covariance "
    "is stationary.",
    explanation="Stationarity needs a constant mean and a covariance that depends on x − x′ alone. "
    "Here the second holds and the first does not.",
    hints=(
        "Look up the definition of stationarity in lesson 01. How many parts does it have?",
        "Which of the two parts can you read off a covariance matrix, and which can you not?",
        "What is E[f(x)] here, and is it the same at every x?",
    ),
)

NEVER_INDEPENDENT = explain_why(
    "04.7",
    "Two classes of an ETGP both vary at some input x. No choice of flows makes their values f¹(x) "
    "and f²(x) independent. Why not?",
    ideas=(
        Idea(
            "both are made from one f₀",
            "What are the two values made from?",
            "They share one latent.",
            says=_any(
                _then(r"\b(?:same|one|shared?|single|common)\b", _DRAW),
                _then(_DRAW, r"\b(?:shared?|same|common|both|all|every)"),
                _then(r"\b(?:both|all|each|two)\b", r"\bf0|latent|\bdraw"),
            ),
        ),
        Idea(
            "one value determines the other",
            "Suppose you are told f¹(x). What do you then know about f₀(x), and so about f²(x)?",
            "Knowing one value determines the other.",
            says=_any(
                r"determin|invert|inverse|undo|\bpivot|recover|reveal|\bfollows? from",
                r"function of (?:the other|each other|one another|f\d|the first)",
                _then("know|told|given", rf"{_OTHER}|f0"),
                _then("comput|fix|giv|tell", _OTHER),
            ),
        ),
    ),
    misconceptions=(
        Idea(
            "the softmax links them",
            "A softmax makes *probabilities* add up to one, in every classifier, also in one whose "
            "processes are independent. The question is about the values before the softmax.",
            "The softmax makes them sum to one.",
            says=r"softmax|sum to (?:one|1)|add up to|normali[sz]",
        ),
        Idea(
            "the kernel links them",
            "The kernel links f₀ at *different* inputs. Here there is a single input, and the "
            "kernel does not matter.",
            "The kernel correlates them.",
            says=r"\bkernel|lengthscale|neighbour|nearby",
        ),
        Idea(
            "training links them",
            "They are dependent before any data have been seen: it is a property of the model.",
            "They are trained on the same data.",
            says=r"\b(?:same|shared) (?:data|labels|rows|network)|train",
        ),
    ),
    model_answer="Both classes bend the same draw of f₀, and flows can be undone: f¹(x) gives "
    "f₀(x), which determines f²(x).",
    explanation="There is one random number at x, and each class is an invertible function of it. "
    "So each class is a function of the other, which is as far from independent as can be.",
    hints=(
        "How many random numbers are there at this x?",
        "Each flow can be undone. What does f¹(x) tell you about f₀(x)?",
        "Use the pivot: from f¹(x) back to f₀(x), and on to f²(x).",
    ),
)

FAR_AWAY = explain_why(
    "05.7",
    "Far away from all data the ETGP of this lesson is still sure of a class, and the SVGP is not. "
    "Which part of the ETGP is to blame, and which part behaves well out there? Say what each of "
    "them does.",
    ideas=(
        Idea(
            "the network keeps the classes apart out there",
            "What does the *network* output far away from the data, and what does that do to the "
            "classes?",
            "The network extrapolates and its shifts stay different.",
            says=_any(
                _then(_NETWORK, r"extrapol|saturat|\bstay|keep|kept|constant|\bsure|confident"),
                _then(_NETWORK, "blame|fault|differ|apart"),
                _then("extrapol|saturat|blame|fault", _NETWORK),
            ),
            denies=_then(_NETWORK, r"return|revert|back|forget|\bknow|unsure|uncertain|zero|do"),
        ),
        Idea(
            "f₀ returns to its prior",
            "What does the belief about *f₀* do far away from the data?",
            "The latent goes back to its prior.",
            says=_any(
                _then(rf"{_LATENT}|belief", "prior|unsure|uncertain|wide|honest|doubt|well|knows"),
                _then("prior", _LATENT),
            ),
            denies=_then(_LATENT, r"blame|fault|\bsure|problem"),
        ),
    ),
    misconceptions=(
        Idea(
            "f₀ is too sure out there",
            "Look at the first column of the table on dropout: far away, the standard deviation of "
            "q(f₀) is that of the prior.",
            "The latent is too confident far away.",
            says=_then(_LATENT, r"\bsure\b|confident|too narrow|extrapol|blame|fault"),
        ),
        Idea(
            "dropout would cure it",
            "Compare the last two columns of the table on dropout: the average over masks is about "
            "as sure far away as the point estimate.",
            "More dropout would help here.",
            says=_then(
                r"dropout|bayesian average|\bba\b|masks?", r"fix|help|cure|protect|solve|unsure"
            ),
        ),
        Idea(
            "there were too few data",
            "Compare the rows of the table on dropout: a hundred times as many data near 0 say "
            "nothing about x = 12.",
            "It has too few training rows.",
            says=r"(?:too|so) (?:few|little)|(?:more|enough) (?:data|rows|training)",
        ),
    ),
    model_answer="The network is to blame: its units saturate, so the shifts keep the classes "
    "apart far away, while f₀ returns to its prior.",
    explanation="The latent knows that it has left the data, and the network does not. In an SVGP "
    "there is nothing but Gaussian processes, so all of it returns to the prior.",
    hints=(
        "An ETGP has two parts that are learnt: a belief about f₀, and a network.",
        "Read the first column of the table on dropout for one of them. For the other, think of a "
        "tanh unit at x = 12.",
        "Say what q(f₀) returns to, and what the shifts bᶜ(x) do when the units are saturated.",
    ),
)

WHAT_GROWS = explain_why(
    "06.6",
    "A colleague writes: “The cost of a training step of ETGP does not depend on the number of "
    "classes.” Correct this sentence: say what does not grow with C, and what does.",
    ideas=(
        Idea(
            "the Gaussian process work does not grow with C",
            "Which part of the work is the same for 10 classes and for 100?",
            "The Gaussian process work stays constant.",
            says=_then(_GP_WORK, r"constant|the same|once|fixed|independent of c\b|unchanged"),
            denies=_any(_then(_GP_WORK, _GROWS), _then(_GROWS, _GP_WORK)),
        ),
        Idea(
            "flows, network and softmax do",
            "What has a term for each class? Think of what follows after f₀.",
            "The flows and the softmax grow with C.",
            says=_any(
                _then(_PER_CLASS, rf"{_GROWS}|(?:each|per) class|with c\b|more|\bdo\b|does"),
                r"\bc (?:flows|outputs|terms)",
                _then(_GROWS, _PER_CLASS),
            ),
        ),
    ),
    misconceptions=(
        Idea(
            "the whole step is constant in C",
            "Look at the slope of the whole step in 06.3: it is above zero.",
            "The sentence is right as it stands.",
            says=_any(
                r"(?:colleague|sentence|statement|claim) is (?:right|correct|true)|^yes\b",
                _then("everything|whole step|total|all of it", "constant|the same"),
            ),
        ),
        Idea(
            "it grows as that of an SVGP does",
            "An ETGP has one Gaussian process, whatever C is, and one more class costs far less "
            "than in an SVGP.",
            "It grows like an SVGP.",
            says=r"(?:as|like|same as|just as)\b[^,]*?\bsvgp",
        ),
    ),
    model_answer="The Gaussian process work does not grow with C, but flows, network and softmax "
    "do.",
    explanation="One kernel matrix and one process, whatever C is; but the output layer of the "
    "network, the flows and the softmax have a term for each class. They are cheap, so one more "
    "class costs far less than in an SVGP.",
    hints=(
        "Go through a step from the data to the loss. Where does a C appear?",
        "Count kernels and processes first; then look at what turns f₀ into C probabilities.",
        "Use the table of section *Derive* for one half and the paragraph *ETGP is not free in C* "
        "for the other.",
    ),
)

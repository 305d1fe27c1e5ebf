"""The flow network against a loop-written forward pass, and the properties of MC dropout."""

import numpy as np
import pytest

from etgp_viz.backend import tf
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork

N, D, C = 6, 3, 4
X = np.random.default_rng(0).normal(size=(N, D))


def stirred(network: FlowNetwork, seed: int = 1) -> FlowNetwork:
    """The same network away from its initial zeros."""
    rng = np.random.default_rng(seed)
    for variable in network.trainable_variables:
        variable.assign_add(rng.normal(scale=0.5, size=variable.shape))
    return network


def reference(network: FlowNetwork, x: np.ndarray, tanh_after: list[bool]) -> np.ndarray:
    """θ(x) [C, P] of one input, unit by unit."""
    for layer, is_tanh in zip(network.layers, tanh_after, strict=True):
        W, b = layer.weights.numpy(), layer.bias.numpy()
        x = np.array([sum(x[i] * W[i, j] for i in range(len(x))) + b[j] for j in range(len(b))])
        x = np.tanh(x) if is_tanh else x
    W, b = network.output.weights.numpy(), network.output.bias.numpy()
    C, P = network.num_classes, network.flow.num_params
    theta = np.empty((C, P))
    for c in range(C):
        for p in range(P):
            theta[c, p] = x @ W[:, p * C + c] + b[p * C + c]
    return theta


@pytest.mark.parametrize(
    ("hidden", "projection", "tanh_after"),
    [
        ((), None, []),
        ((5,), None, [True]),
        ((5, 4), None, [True, True]),
        ((5,), (7, 2), [True, False, True]),
        ((), (2,), [False]),
    ],
)
def test_forward_pass(
    hidden: tuple[int, ...], projection: tuple[int, ...] | None, tanh_after: list[bool]
) -> None:
    network = stirred(FlowNetwork(D, C, flows.SAL(length=1), hidden=hidden, projection=projection))
    expected = [reference(network, x, tanh_after) for x in X]
    np.testing.assert_allclose(network(X), expected, atol=1e-12)


def test_single_precision_is_of_the_products_alone() -> None:
    """θ to seven digits and its gradients to six, in float64, with the same masks; weights too."""
    full, single = (
        stirred(
            FlowNetwork(D, C, flows.Linear(), hidden=(50, 40), dropout=0.4, precision=precision)
        )
        for precision in ("float64", "float32")
    )
    gradients = []
    for network in (full, single):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(network(X, samples=3, seed=1) ** 2)
        gradients.append(tape.gradient(total, network.trainable_variables))
    for samples in (None, 3):
        params = single(X, samples=samples, seed=1)
        assert params.dtype == tf.float64
        difference = np.abs(params - full(X, samples=samples, seed=1)).max()
        assert 0.0 < difference < 1e-5  # of numbers around 10
    for ours, theirs in zip(*gradients, strict=True):
        assert theirs.dtype == tf.float64
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-4 * np.abs(ours).max())


def test_the_start_is_exact_in_single_precision() -> None:
    start = [0.1, 0.2]
    network = FlowNetwork(D, C, flows.Linear(), hidden=(5,), start=start, precision="float32")
    np.testing.assert_array_equal(network(X), np.broadcast_to(start, (N, C, 2)))


def test_output_layer_has_one_unit_for_each_parameter_of_each_class() -> None:
    assert FlowNetwork(D, 1000, flows.Linear()).output.bias.shape == (2000,)


@pytest.mark.parametrize("flow", [flows.Linear(), flows.SAL(), flows.Tanh()], ids=repr)
def test_starts_as_the_identity(flow: flows.Flow) -> None:
    params = FlowNetwork(D, C, flow)(X, samples=2)
    f = np.linspace(-3.0, 3.0, N)[:, None]
    np.testing.assert_allclose(flow.forward(f, params), np.broadcast_to(f, (2, N, C)), atol=2e-6)


def test_first_step_breaks_the_symmetry_between_classes() -> None:
    """The identity start must not be a saddle: every output unit gets a gradient."""
    for flow in (flows.Linear(), flows.SAL(), flows.Tanh()):
        network = FlowNetwork(D, C, flow)
        f = np.random.default_rng(0).normal(size=(N, 1))
        with tf.GradientTape() as tape:
            g = flow.forward(f, network(X))
            loss = -tf.reduce_sum(tf.math.log_softmax(g)[:, 0])
        assert np.all(tape.gradient(loss, network.output.bias.unconstrained_variable) != 0.0)


def test_dropout_draws_are_masked_activations() -> None:
    """With one hidden layer a draw is the output layer on activations times 0 or 1/(1 − p)."""
    network = stirred(FlowNetwork(D, C, flows.Linear(), hidden=(5,), dropout=0.4))
    dropped = network.features(tf.constant(X), samples=300, seed=3).numpy()
    kept = np.tanh(X @ network.layers[0].weights.numpy() + network.layers[0].bias.numpy())
    ratio = dropped / kept
    assert np.all(np.isclose(ratio, 0.0) | np.isclose(ratio, 1.0 / 0.6))
    frequency, error = np.mean(ratio == 0.0), np.sqrt(0.4 * 0.6 / ratio.size)
    assert abs(frequency - 0.4) < 4 * error
    # One mask per row: rows and draws differ.
    assert len({row.tobytes() for row in (ratio == 0.0).reshape(-1, 5)}) == 2**5


def test_one_mask_drops_the_same_units_in_all_rows() -> None:
    network = stirred(FlowNetwork(D, C, flows.Linear(), hidden=(5, 4), dropout=0.4))
    dropped = network.features(tf.constant(X), samples=300, seed=3, one_mask=True).numpy() == 0.0
    np.testing.assert_array_equal(dropped, np.broadcast_to(dropped[:, :1], dropped.shape))
    assert len({row.tobytes() for row in dropped[:, 0]}) == 2**4


def test_draws_average_to_the_point_estimate() -> None:
    network = stirred(FlowNetwork(D, C, flows.Linear(), hidden=(20,), dropout=0.5))
    draws = network(X, samples=2000, seed=0).numpy()
    error = draws.std(axis=0) / np.sqrt(len(draws))
    # Exact for one hidden layer: what follows the dropout is linear.
    assert np.max(np.abs(draws.mean(axis=0) - network(X)) / error) < 4.5


def test_no_dropout_without_hidden_layers_or_with_rate_zero() -> None:
    for network in (
        FlowNetwork(D, C, flows.Linear(), hidden=(), dropout=0.5),
        FlowNetwork(D, C, flows.Linear(), dropout=0.0),
    ):
        stirred(network)
        draws = network(X, samples=3)
        np.testing.assert_allclose(draws, np.broadcast_to(network(X), draws.shape), atol=1e-14)


def test_seed_decides_weights_and_draws() -> None:
    first, same, other = (FlowNetwork(D, C, flows.Linear(), seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.layers[0].weights, same.layers[0].weights)
    assert not np.array_equal(first.layers[0].weights, other.layers[0].weights)
    np.testing.assert_array_equal(
        stirred(first)(X, samples=2), stirred(same)(X, samples=2)
    )  # the generators agree
    np.testing.assert_array_equal(first(X, samples=2, seed=5), first(X, samples=2, seed=5))
    assert not np.array_equal(first(X, samples=2), first(X, samples=2))  # new draws each time


def test_masks_of_a_row_do_not_depend_on_the_rows_after_it() -> None:
    network = stirred(FlowNetwork(D, C, flows.Linear(), hidden=(5, 4), dropout=0.5))
    few, many = (network(X[:n], samples=3, seed=2).numpy() for n in (4, N))
    np.testing.assert_allclose(many[:, :4], few, atol=1e-14)


def test_prior_penalty_is_the_log_prior_of_the_weights() -> None:
    """Up to its constant, −log N(w; 0, σ²) with 1/(2σ²) = weight decay: 1e-4 means σ² = 5000."""
    network = stirred(FlowNetwork(D, C, flows.Linear(), dropout=0.0, weight_decay=1e-4))
    weights = np.concatenate(
        [layer.weights.numpy().ravel() for layer in [*network.layers, network.output]]
    )
    assert float(network.prior_penalty()) == pytest.approx(np.sum(weights**2) / (2 * 5000))


@pytest.mark.parametrize("projection", [None, (7, 3)])
def test_the_penalty_of_a_dropped_weight_is_that_of_its_mean_square(projection) -> None:
    """λ E[w²] over masks, by Monte Carlo: w / keep or 0 behind a dropout, w itself elsewhere."""
    dropout, rng = 0.75, np.random.default_rng(0)
    shape = {"hidden": (5, 4), "projection": projection}
    network = stirred(FlowNetwork(D, C, flows.Linear(), dropout=dropout, weight_decay=0.1, **shape))
    is_behind = [False, True, True] if projection is None else [False, True, False, True, True]
    total, draws = 0.0, 4000
    for layer, dropped in zip([*network.layers, network.output], is_behind, strict=True):
        w = layer.weights.numpy()
        kept = rng.random((draws, len(w), 1)) > dropout if dropped else np.ones((1, 1, 1))
        total += 0.1 * np.mean(np.sum((w * kept / (1.0 - dropout * dropped)) ** 2, axis=(1, 2)))
    assert float(network.prior_penalty()) == pytest.approx(total, rel=0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_inputs": 0}, "num_inputs"),
        ({"num_classes": 0}, "num_classes: expected an integer ≥ 1.*got 0"),
        ({"flow": "linear"}, "flow: expected a flow"),
        ({"flow": flows.Exp()}, "flow: .*no parameters"),
        ({"hidden": (0,)}, "hidden"),
        ({"hidden": None}, "hidden"),
        ({"dropout": 1.0}, "dropout"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"projection": (2.5,)}, "projection"),
        ({"seed": -1}, "seed"),
        ({"start": [1.0]}, "start: expected 2 finite raw parameters"),
        ({"precision": "float16"}, "precision: expected one of 'float64', 'float32'"),
    ],
)
def test_bad_input_says_what_is_wrong(change: dict[str, object], message: str) -> None:
    arguments = {"num_inputs": D, "num_classes": C, "flow": flows.Linear()} | change
    with pytest.raises(ValueError, match=message):
        FlowNetwork(**arguments)


def test_weights_start_within_the_limits_of_glorot() -> None:
    network = FlowNetwork(D, C, flows.Linear(), hidden=(40, 30))
    for layer, (fan_in, fan_out) in zip(network.layers, [(D, 40), (40, 30)], strict=True):
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        assert 0.95 * limit < np.max(np.abs(layer.weights)) <= limit


@pytest.mark.parametrize("seed", [-1, 1.5, 2**32])
def test_a_bad_seed_of_the_draws_is_named(seed) -> None:
    with pytest.raises(ValueError, match=r"^seed: expected"):
        FlowNetwork(D, C, flows.Linear())(X, samples=2, seed=seed)


def test_wrong_number_of_columns() -> None:
    with pytest.raises(ValueError, match=r"X: expected a \[N, 3\]"):
        FlowNetwork(D, C, flows.Linear())(X[:, :2])


@pytest.mark.parametrize("samples", [None, 3])
def test_the_last_layer_as_one_product(samples) -> None:
    """Features and a one, times weights and bias, are the parameters: column p·C + c."""
    network = stirred(FlowNetwork(D, C, flows.Linear(), hidden=(5,)))
    features = network.features(X, samples, seed=0)
    h, W = network.last_layer(features)
    assert h.shape == (*features.shape[:-1], 6)
    assert W.shape == (6, 2 * C)
    stacked = (h.numpy() @ W.numpy()).reshape(*features.shape[:-1], 2, C)
    np.testing.assert_allclose(np.swapaxes(stacked, -1, -2), network.params_of(features))


def test_defaults_and_flows_without_parameters() -> None:
    first, second = FlowNetwork(D, C, flows.Linear()), FlowNetwork(D, C, flows.Linear(), seed=0)
    for left, right in zip(first.trainable_variables, second.trainable_variables, strict=True):
        np.testing.assert_array_equal(left, right)
    assert (first.dropout, first.weight_decay, first.layers[0].bias.shape) == (0.25, 1e-5, [50])
    with pytest.raises(ValueError, match="has no parameters for a network to output"):
        FlowNetwork(D, C, flows.Exp())

"""Bad input: each message names the argument, what was expected and what came."""

from types import SimpleNamespace

import gpflow
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from etgp_viz import checks as check

X = np.arange(6.0).reshape(3, 2)
Y = np.array([[0], [2], [1]])


def fails(function, *args, says, **kwargs):
    """Check that the call raises a ValueError whose message has every fragment of ``says``."""
    with pytest.raises(ValueError, match=r"^[\w\[\]]+: expected .+, got .+") as caught:
        function(*args, **kwargs)
    for fragment in says:
        assert fragment in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [X, X.tolist(), X.astype(int), pd.DataFrame(X), tf.constant(X), tf.Variable(X)],
    ids=["array", "list", "integers", "frame", "tensor", "variable"],
)
def test_inputs_of_any_container_become_float64(given):
    checked = check.check_inputs(given, num_inputs=2)
    assert checked.dtype == np.float64
    assert tf.is_tensor(checked) == tf.is_tensor(given)
    np.testing.assert_array_equal(checked, X)


def test_a_parameter_counts_as_a_tensor():
    np.testing.assert_array_equal(check.check_inputs(gpflow.Parameter(X)), X)


def test_a_float64_array_is_not_copied():
    assert check.check_inputs(X) is X or np.shares_memory(check.check_inputs(X), X)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (X[:, 0], ["[N, D]", "shape [3]", "Z[:, None]"]),
        (X[None], ["shape [1, 3, 2]"]),
        (X[:0], ["empty", "[0, 2]"]),
        (X[:, :0], ["empty", "[3, 0]"]),
        (np.where(X == 3, np.nan, X), ["nan in row 1, column 1", "1 non-finite"]),
        (np.where(X > 3, np.inf, X), ["inf in row 2, column 0", "2 non-finite"]),
        (tf.constant(np.where(X == 3, np.nan, X)), ["nan in row 1, column 1"]),
        (X.astype(np.float32), ["float64", "dtype float32", "np.asarray(Z, dtype=np.float64)"]),
        (tf.cast(X, tf.float32), ["float64", "dtype float32"]),
        (X.astype(complex), ["dtype complex128"]),
        (X.astype(str), ["dtype str"]),
        (X.astype(object), ["dtype object"]),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), ["dtype object"]),
        ([[1.0, 2.0], [3.0]], ["rows of unequal length"]),
        (None, ["dtype object"]),
        (3.0, ["shape []"]),
    ],
)
def test_bad_inputs(given, says):
    fails(check.check_inputs, given, "Z", says=["Z:", *says])


def test_wrong_number_of_inputs():
    fails(check.check_inputs, X, num_inputs=5, says=["X:", "[N, 5]", "shape [3, 2]"])


def test_the_precision_follows_gpflow():
    with gpflow.config.as_context(gpflow.config.Config(float=np.float32)):
        assert check.check_inputs(X.astype(np.float32)).dtype == np.float32
        fails(check.check_inputs, X, says=["float32 numbers", "dtype float64"])


@pytest.mark.parametrize(
    "given",
    [
        Y,
        Y[:, 0],
        Y.tolist(),
        Y.astype(np.uint8),
        Y.astype(float),
        pd.Series(Y[:, 0]),
        tf.constant(Y),
    ],
    ids=["column", "flat", "list", "uint8", "whole floats", "series", "tensor"],
)
def test_labels_become_one_integer_column(given):
    checked = check.check_labels(given, 3, num_rows=3)
    assert checked.dtype == np.int64
    assert tuple(checked.shape) == (3, 1)
    np.testing.assert_array_equal(checked, Y)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([0, 1, 3], ["0..2", "3 in row 2", "outside"]),
        ([0, -1, 2], ["0..2", "-1 in row 1", "outside"]),
        (tf.constant([0, 1, 3]), ["0..2", "3 in row 2"]),
        ([0, 1.5, 2], ["integer", "1.5 in row 1"]),
        ([0, np.nan, 2], ["nan in row 1"]),
        ([0, 1], ["[3, 1]", "2 rows"]),
        ([], ["empty"]),
        (np.eye(3), ["[3, 1]", "shape [3, 3]"]),
        (2, ["shape []"]),
        (["a", "b", "c"], ["dtype str"]),
        ([True, False, True], ["dtype bool"]),
        ([0, None, 1], ["dtype object"]),
    ],
)
def test_bad_labels(given, says):
    fails(check.check_labels, given, 3, num_rows=3, says=["Y:", *says])


def test_data_is_a_pair_with_equal_rows():
    checked_X, checked_Y = check.check_data((X, Y[:, 0]), num_classes=3)
    np.testing.assert_array_equal(checked_X, X)
    np.testing.assert_array_equal(checked_Y, Y)
    fails(check.check_data, (X, Y[:2]), 3, says=["Y:", "[3, 1]", "2 rows"])
    fails(check.check_data, (X, Y, Y), 3, says=["data:", "(X, Y)", "tuple of length 3"])
    fails(check.check_data, X, 3, says=["data:", "(X, Y)", "ndarray"])
    fails(check.check_data, (X, Y), 3, num_inputs=4, says=["X:", "[N, 4]"])


def test_any_numeric_target_is_kept_as_it_is():
    target = np.ones((3, 4), np.float32)
    assert check.check_same_rows((X, target))[1] is target
    fails(check.check_same_rows, (X, target[:2]), says=["Y:", "3 rows", "shape [2, 4]"])
    fails(check.check_same_rows, (X, target * np.nan), says=["Y:", "nan in row 0, column 0"])
    fails(check.check_same_rows, (X, ["a"] * 3), says=["Y:", "dtype str"])
    fails(check.check_same_rows, (X, 1.0), says=["Y:", "a single number"])


def test_inside_a_tf_function_only_static_facts_are_checked():
    @tf.function(
        autograph=False,
        input_signature=[tf.TensorSpec([None, 2], tf.float64), tf.TensorSpec([None], tf.int32)],
    )
    def run(X, Y):
        fails(check.check_inputs, X, num_inputs=3, says=["X:", "shape [?, 2]"])
        fails(check.check_inputs, tf.cast(X, tf.float32), says=["dtype float32"])
        fails(check.check_labels, X, 3, says=["Y:", "shape [?, 2]"])
        return check.check_data((X, Y), num_classes=3)

    nan = np.full((3, 2), np.nan)
    checked_X, checked_Y = run(nan, np.array([7, 8, 9], np.int32))
    np.testing.assert_array_equal(checked_X, nan)
    assert checked_Y.dtype == tf.int64
    assert checked_Y.shape == (3, 1)


def test_tensors_of_unknown_rank_pass_through():
    @tf.function(
        autograph=False,
        input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.int64)],
    )
    def run(X, Y):
        return check.check_data((X, Y), num_classes=3)

    assert run(X, Y)[1].shape == (3, 1)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1, ["in 2..5", "the rows of X", "got 1"]),
        (6, ["in 2..5", "got 6"]),
        (2.0, ["integer", "got 2.0"]),
        (True, ["integer", "got True"]),
        ("3", ["integer", "got '3'"]),
        (None, ["integer", "got NoneType"]),
    ],
)
def test_bad_counts(value, says):
    fails(check.check_count, value, "M", 2, 5, because="the rows of X", says=["M:", *says])


def test_counts():
    assert check.check_count(np.int32(3), "M", 2, 3) == 3
    assert check.check_count(10**9, "epochs") == 10**9
    fails(check.check_count, 1, "num_classes", minimum=2, says=["num_classes:", "≥ 2", "got 1"])


@pytest.mark.parametrize("value", [-0.1, 1, 1.0, np.nan, np.inf, "0.5", True, None])
def test_bad_fractions(value):
    fails(check.check_fraction, value, "dropout", says=["dropout:", "[0, 1)"])


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "0.5", True, None])
def test_bad_positive_numbers(value):
    fails(check.check_positive, value, "learning_rate", says=["learning_rate:", "> 0"])


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "0.5", True, None])
def test_bad_nonnegative_numbers(value):
    fails(check.check_nonnegative, value, "weight_decay", says=["weight_decay:", "≥ 0"])


def test_fractions_and_positive_numbers():
    assert check.check_fraction(0, "dropout") == 0.0
    assert check.check_fraction(np.float32(0.5), "dropout") == 0.5
    assert check.check_positive(3, "learning_rate") == 3.0
    assert check.check_nonnegative(0, "weight_decay") == 0.0


def test_choices():
    assert check.check_choice("shared", "sharing", ("separate", "shared")) == "shared"
    fails(
        check.check_choice,
        "both",
        "sharing",
        ("separate", "shared"),
        says=["sharing:", "one of 'separate', 'shared'", "got 'both'"],
    )
    fails(
        check.check_choice, 1, "batched", (False, True), says=["batched:", "False, True", "got 1"]
    )


def test_booleans_become_numbers_and_numbers_stay_as_they_are():
    assert check.check_zeros_and_ones(np.array([True, False])).dtype == np.int64
    assert check.check_zeros_and_ones(np.array([1.0, 0.0])).dtype == np.float64


def test_no_elbo_of_classes_is_above_zero_unless_a_parameter_has_a_prior():
    parameter = SimpleNamespace(prior=None)
    model = SimpleNamespace(likelihood=gpflow.likelihoods.Softmax(3))
    model.trainable_parameters = [parameter]
    assert check.highest_elbo(model) == pytest.approx(0.0, abs=1e-5)
    parameter.prior = "a density"
    assert check.highest_elbo(model) == np.inf
    parameter.prior, model.likelihood = None, gpflow.likelihoods.Gaussian()
    assert check.highest_elbo(model) == np.inf


def test_a_batch_of_all_rows_needs_no_number_of_rows():
    model = SimpleNamespace(training_loss=None, trainable_variables=[1.0], num_data=None)
    for batch_size in (None, 10, 11):
        check.check_model(model, 10, batch_size, natural=False)
    with pytest.raises(ValueError, match=r"^model\.num_data: expected 10, .*, got None"):
        check.check_model(model, 10, 9, natural=False)

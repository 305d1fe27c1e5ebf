"""Shapes are checked again once nobody needs results in milliseconds."""

from check_shapes import get_enable_check_shapes

from etgp_viz.backend import unchecked


def test_contexts_that_overlap_leave_the_checks_as_they_were():
    """Two threads: the first to enter is the first to leave."""
    before, first, second = get_enable_check_shapes(), unchecked(), unchecked()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert get_enable_check_shapes() != before
    second.__exit__(None, None, None)
    assert get_enable_check_shapes() == before

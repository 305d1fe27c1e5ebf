"""The index of the pictures, and the one name that a story has on every floor."""

from importlib import import_module

import pytest

from etgp_viz import explorers, figures, records
from etgp_viz.figures.plotting import Picture


@pytest.mark.parametrize("name", figures.PICTURES)
def test_every_picture_is_where_the_index_says(name):
    story, shows = figures.PICTURES[name]
    home = import_module(f"etgp_viz.figures.{story}")
    assert isinstance(getattr(figures, name), Picture)
    assert getattr(figures, name) is getattr(home, name)
    assert name in dir(figures)
    assert shows


@pytest.mark.parametrize("story", figures.STORIES)
def test_the_index_misses_no_picture(story):
    home = import_module(f"etgp_viz.figures.{story}")
    pictures = {name for name, value in vars(home).items() if isinstance(value, Picture)}
    assert pictures == {name for name, (where, _) in figures.PICTURES.items() if where == story}
    assert pictures <= set(home.__all__)


@pytest.mark.parametrize("story", figures.STORIES)
def test_a_story_has_one_name_on_every_floor(story):
    assert story in records.STORIES
    for floor in ("records", "figures", "figures.print", "explorers"):
        import_module(f"etgp_viz.{floor}.{story}")
    assert f"{story.title().replace('_', '')}Explorer" in explorers.__all__


def test_names_of_before_are_the_pictures_of_now():
    assert figures.orders is figures.series_terms
    assert figures.together is figures.two_classes
    assert figures.comparison.ANALYTIC is figures.analytic
    assert figures.timing.make == figures.race.make
    with pytest.raises(AttributeError, match="no attribute 'portrait'"):
        figures.portrait  # noqa: B018


@pytest.mark.parametrize("name", records.STORIES)
def test_the_index_of_records_opens_every_module(name):
    assert getattr(records, name) is import_module(f"etgp_viz.records.{name}")

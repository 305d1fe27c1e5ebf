"""What holds for every explorer: through its traits, its links and its code; never pixels."""

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from etgp_viz import explorers
from etgp_viz.course.publish import stills
from etgp_viz.explorers import fields
from etgp_viz.explorers.controls import Points
from etgp_viz.figures import plotting, style

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

ROOT = Path(__file__).parents[3]

# Every explorer, with arguments that keep it small.
KINDS = {
    "PosteriorExplorer": {},
    "FlowExplorer": {},
    "SharedLatentExplorer": {"classes": 20},  # all that can be the pivot or in focus
    "CovarianceExplorer": {},
    # Small, and with all fields of which links know another default.
    "InferenceExplorer": {
        "data": "waves",
        "num_data": 60,
        "num_inducing": 5,
        "learning_rate": 0.02,
    },
    "TimingExplorer": {},
    "ResultsExplorer": {},
}
NAMES = list(KINDS)


def new(name, **values):
    return getattr(explorers, name)(**{**KINDS[name], **values})


@pytest.fixture(scope="module")
def shared():
    """One explorer of each kind for the whole module; a test that uses it resets it first."""
    return {name: new(name) for name in NAMES}


@pytest.fixture(params=NAMES)
def explorer(request, shared):
    found = shared[request.param]
    found.reset()
    found.set(**KINDS[request.param])
    return found


def assert_sound(explorer, counts):
    assert "role='alert'" not in explorer._page.message, explorer._page.message
    assert {name: len(figure.data) for name, figure in explorer.figures.items()} == counts
    for name, figure in explorer.figures.items():
        for trace in figure.data:
            for axis in ("x", "y", "z"):
                values = getattr(trace, axis, None)
                if values is not None and np.asarray(values).dtype.kind in "if":
                    assert np.all(np.isfinite(np.asarray(values, float))), (name, trace.name, axis)
    for name, control in explorer.controls.items():
        assert agree(getattr(explorer.state, name), control.value), name
    assert len(explorer.summary) > 20


def agree(value, other):
    """Numbers up to the rounding of a slider, words exactly."""
    return value == other if isinstance(other, str) else value == pytest.approx(other, rel=1e-5)


def trace_counts(explorer):
    return {name: len(figure.data) for name, figure in explorer.figures.items()}


@pytest.mark.slow
def test_every_control_at_its_ends_and_between(explorer):
    counts, start = trace_counts(explorer), dataclasses.asdict(explorer.state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, spec in fields.controls_of(explorer.State).items():
            for value in spec.samples():
                explorer.controls[name].value = value
                assert_sound(explorer, counts)
                assert agree(getattr(explorer.state, name), value), name
            explorer.set(**{name: start[name]})


def random_values(state, rng, how_many):
    controls = fields.controls_of(state)
    chosen = rng.choice(list(controls), how_many, replace=False)
    return {name: controls[name].samples()[rng.integers(len(controls[name].samples()))]
            for name in chosen}  # fmt: skip


@pytest.mark.slow
def test_random_pairs_of_controls(explorer):
    rng, counts = np.random.default_rng(0), trace_counts(explorer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(30):
            for name, value in random_values(explorer.State, rng, 2).items():
                explorer.controls[name].value = value
            assert_sound(explorer, counts)


def test_a_link_brings_the_state_back(explorer):
    rng = np.random.default_rng(1)
    for _ in range(3):
        explorer.set(**random_values(explorer.State, rng, 3))
        state, text = explorer.state, explorer.link()
        explorer.reset()
        assert explorer.from_link(text) is explorer
        assert explorer.state == state


@pytest.mark.parametrize("name", NAMES)
def test_a_link_makes_a_new_explorer(name):
    kind = getattr(explorers, name)
    text = json.dumps({"explorer": name, **KINDS[name]})
    assert dataclasses.asdict(kind.from_link(text).state) == dataclasses.asdict(new(name).state)


BAD_LINKS = [
    "", "{", "[]", "null", "x" * 5000, "[" * 3000, '{"explorer":"Other"}', "__import__('os')",
    '{"explorer":"NAME","no_such_field":1}', '{"explorer":"NAME","FIELD":"<script>"}',
    '{"explorer":"NAME","FIELD":NaN}', '{"explorer":"NAME","FIELD":1e99}',
    '{"explorer":"NAME","FIELD":null}', '{"explorer":"NAME","FIELD":true,"FIELD":true}',
    '{"explorer":"NAME","FIELD":{"__class__":"x"}}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_LINKS)
def test_a_bad_link_says_so_and_changes_nothing(explorer, text):
    before = explorer.state
    field = next(
        name
        for name, spec in fields.controls_of(explorer.State).items()
        if isinstance(spec, fields.Number)
    )
    text = text.replace("NAME", type(explorer).__name__).replace("FIELD", field)
    with pytest.raises(ValueError, match=r"^link: .{10,}"):
        explorer.from_link(text)
    assert explorer.state == before
    explorer._sharing.open_link(text)
    assert "role='alert'" in explorer._page.message
    assert explorer.state == before


def test_bad_values_say_so_and_change_nothing(explorer):
    before = explorer.state
    for name, spec in fields.controls_of(explorer.State).items():
        with pytest.raises(ValueError, match=rf"^{name}: expected"):
            explorer.set(**{name: object()})
        if isinstance(spec, fields.Number | fields.Whole):
            with pytest.raises(ValueError, match=rf"^{name}: expected a .* from"):
                explorer.set(**{name: type(spec.low)(spec.high + 1)})
    assert explorer.state == before


def test_reset_and_presets(explorer):
    start = explorer.State()
    assert len(explorer.presets) >= 4
    for name, preset in explorer.presets.items():
        explorer._choose_preset(name)
        for field, value in preset.values.items():
            assert getattr(explorer.state, field) == value
        assert "role='alert'" not in explorer._page.message
        note = explorer._page._note.children[0]
        assert preset.story in (note.say if preset.steps else note.value)
    explorer.reset()
    assert explorer.state == start


def test_present_mode_enlarges_every_view_and_leaves_no_trace(explorer):
    frame, size = explorer._page.frame, style.TEXT_SIZE
    frame.hides, frame.presents = True, True
    for view in range(len(frame.views)):
        frame.view = view
        sizes = {explorer._figures[name].layout.font.size for name in frame.shown}
        assert sizes == {plotting.PRESENT_SCALE * size}, frame.views[view]
    frame.presents, frame.view, frame.hides = False, 0, False
    assert {fig.layout.font.size or size for fig in explorer._figures.values()} == {size}


def test_the_guided_tour_can_be_finished(explorer, monkeypatch):
    """Every place is there, and every wait ends with a move that the tour can show."""
    monkeypatch.setattr(explorer, "play", lambda: None, raising=False)  # training takes longer
    guide, name = explorer._guide, "Guided tour"
    steps = explorer.presets[name].steps
    guide.check(explorer.presets[name])
    assert len(steps) >= 5
    assert sum(bool(step.until) for step in steps) >= 3
    explorer._choose_preset(name)
    seen = []
    while guide.name:
        before = (card := guide.card).count, card.say, card.then, card.onward
        seen.append(before)
        assert len(seen) < 40, seen[-2:]
        guide.go_on()
        assert "role='alert'" not in explorer._page.message
    assert {count for count, *_ in seen if count.startswith("step")} == {
        f"step {k} of {len(steps)}" for k in range(1, len(steps) + 1)
    }
    answers = {then for _, _, then, _ in seen}
    assert all(step.then in answers for step in steps)


def test_resample_changes_the_draw_alone(explorer):
    if "seed" not in explorer.controls:
        pytest.skip("it draws nothing at random")
    before = explorer.state
    drawn = [np.array(trace.y) for figure in explorer.figures.values() for trace in figure.data]
    explorer.resample()
    assert explorer.state == dataclasses.replace(before, seed=before.seed + 1)
    after = [np.array(trace.y) for figure in explorer.figures.values() for trace in figure.data]
    assert any(not np.array_equal(a, b) for a, b in zip(drawn, after, strict=True))


def test_an_error_keeps_the_picture_and_says_so(explorer, monkeypatch):
    def broken(_):
        raise ValueError("too steep")

    before = explorer.table()
    monkeypatch.setattr(explorer, "compute_records", broken)
    explorer._redraw()
    assert "cannot be drawn: too steep" in explorer._page.message
    assert explorer.table() == before


def test_the_picture_and_its_numbers_can_be_saved(explorer):
    assert explorer.picture("svg").lstrip().startswith(b"<?xml")
    with pytest.raises(ValueError, match="kind: expected one of png, svg, pdf"):
        explorer.picture("exe")
    header, *rows = explorer.table().splitlines()
    assert header == "figure,trace,x,y,z"
    shown = sum(
        np.asarray(trace.z if trace.type == "heatmap" else trace.y).size
        for figure in explorer.figures.values()
        for trace in figure.data
        if trace.visible is not False
    )
    assert len(rows) == shown


def test_the_browser_can_ask_for_a_default(explorer, monkeypatch):
    name, spec = next(iter(fields.controls_of(explorer.State).items()))
    explorer.controls[name].value = spec.samples()[-1]
    state, replies = explorer.state, []
    monkeypatch.setattr(explorer._page.frame, "send", replies.append)
    explorer._on_message({"ask": name})  # until the reply, values may come that were held back
    assert (explorer.state, replies) == (state, [{"answered": name}])
    explorer._on_message({"default": name})
    assert getattr(explorer.state, name) == getattr(explorer.State(), name)


def test_it_shows_itself_and_says_what_it_shows(explorer):
    data, _ = explorer._repr_mimebundle_()
    view = data["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == explorer._page._view.model_id
    assert data["text/plain"] == explorer._page.frame.alt == explorer.summary


def test_a_page_loaded_later_gets_what_is_shown_now(explorer):
    name, spec = next(iter(fields.controls_of(explorer.State).items()))
    explorer.set(**{name: spec.samples()[-1]})
    for figure in explorer.figures.values():
        figure.get_state()
        for sent, trace in zip(figure._widget_data, figure.data, strict=True):
            assert sent["name"] == trace.name
            np.testing.assert_array_equal(sent["y"], trace.y)


RUN_SCRIPTS = """
import json, pathlib, sys, plotly.graph_objects as go
from tests.unit.explorers.test_explorers import _plain
go.Figure.show = lambda self: None
for path in sys.argv[1:]:
    space = {}
    exec(compile(pathlib.Path(path).read_text(), path, 'exec'), space)
    plain = {key: _plain(record) for key, record in space['records'].items()}
    pathlib.Path(path + '.json').write_text(json.dumps(plain))
"""


@pytest.mark.slow
def test_code_of_random_states_gives_the_same_numbers(shared, tmp_path):
    """All scripts run in one fresh interpreter, in which `show` does nothing."""
    rng, expected = np.random.default_rng(2), {}
    for name, explorer in shared.items():
        explorer.reset()
        explorer.set(**KINDS[name])
        for k in range(4):
            explorer.set(**random_values(explorer.State, rng, 4))
            path = tmp_path / f"{name}-{k}.py"
            path.write_text(explorer.to_code())
            assert path.read_text().count("\n") < 60
            expected[path] = {key: _plain(record) for key, record in explorer.records.items()}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", RUN_SCRIPTS, *expected], check=True, env=environment)
    for path, wanted in expected.items():
        found = json.loads(path.with_name(path.name + ".json").read_text())
        assert found.keys() == wanted.keys()
        for key, record in wanted.items():
            assert found[key].keys() == record.keys()
            for field, value in record.items():
                where = f"{path.stem}: {key}.{field}"
                if isinstance(value, str) or value is None:
                    assert found[key][field] == value, where
                else:
                    pair = np.array(found[key][field], float), np.array(value, float)
                    np.testing.assert_allclose(*pair, rtol=1e-7, atol=1e-7, err_msg=where)


def _plain(record):
    """A record as plain numbers and texts, nested records by dotted names."""
    plain = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            plain |= {f"{field.name}.{key}": inner for key, inner in _plain(value).items()}
        elif isinstance(value, np.ndarray | float | int | np.floating | np.integer):
            plain[field.name] = np.asarray(value).tolist()
        else:
            plain[field.name] = repr(value)
    return plain


# Handouts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_control_has_positions_for_paper(name):
    state = getattr(explorers, name).State()
    for field, spec in fields.controls_of(type(state)).items():
        value = getattr(state, field)
        stops = spec.positions(value)
        assert len(set(stops)) == len(stops) <= fields.POSITIONS + 1, field
        assert all(spec.check(stop) == stop for stop in stops), field
        assert all(spec.format_value(stop) for stop in stops), field
        assert value in stops or isinstance(spec, Points), field


@pytest.mark.slow
def test_a_tour_shows_other_pictures_and_comes_back(explorer, monkeypatch):
    monkeypatch.setattr("etgp_viz.explorers.inference.TOUR", (0, 2, 4))
    before = explorer.state
    still = json.loads(json.dumps(stills.explorer_still(explorer)))
    assert explorer.state == before
    assert "role='alert'" not in explorer._page.message
    frames, start = still["frames"], still["start"]
    assert [name for name, _ in still["figures"]] == list(explorer.figures)
    assert frames[start]["changes"] == {}
    labels = [frame["label"] for frame in frames]
    assert len(set(labels)) == len(labels) >= 3
    assert all(frame["changes"] for k, frame in enumerate(frames) if k != start)
    assert all(len(frame["words"]) > 20 for frame in frames)
    assert len(json.dumps(still)) < 3e6

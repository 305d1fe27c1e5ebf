"""The results that come with the package, against plain NumPy and JSON."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.experiments import results
from etgp_viz.records import close_up


def test_the_reference_says_where_it_comes_from():
    found = experiments.reference()
    assert found.attrs["command"] == results.COMMAND
    assert found.attrs["machine"]["processor"]
    assert (found["status"] == "ok").any()
    text = (results.FOLDER / results.TABLE).read_text()
    assert not any(f"{place}/" in text for place in ("/tmp", "/home", "/root", "https:/", "/work"))
    sizes = [(results.FOLDER / name).stat().st_size for name in (results.TABLE, results.DETAILS)]
    assert sum(sizes) < 1_000_000


def test_every_cell_of_the_reference_has_details_that_agree_with_its_row():
    looks = experiments.closest_look(experiments.reference())
    assert len(looks)
    for row in looks.itertuples():
        detail = experiments.reference_detail(row.id)
        assert (detail["run"]["dataset"], detail["run"]["model"]) == (row.dataset, row.model)
        assert close_up.confusion(detail).counts.sum() == row.num_test
        ece = close_up.reliability_bins(detail, row.inference).ece
        assert ece == pytest.approx(row.test_ece, abs=1e-3)  # details have four digits
        if row.inference == "pe":
            right = np.trace(close_up.confusion(detail).counts)
            assert right / row.num_test == pytest.approx(row.test_accuracy, abs=1e-5)


def test_a_run_without_details_is_named():
    with pytest.raises(ValueError, match=r"run_id: expected one of the \d+ runs .*got 'nobody'"):
        experiments.reference_detail("nobody")


def test_shipping_keeps_the_presets_runs_and_drops_places(tmp_path, monkeypatch):
    first, second = tmp_path / "grid.csv", tmp_path / "out"
    head, *lines = (results.FOLDER / results.TABLE).read_text().splitlines()
    made_by = json.loads(head.removeprefix("# "))
    now = experiments.reference()
    runs = [SimpleNamespace(id=run_id) for run_id in dict.fromkeys(now["id"])]
    monkeypatch.setattr(results, "grid", lambda preset: runs)
    # A second seed of a model with one configuration, so that its failure changes no choice.
    chosen = experiments.select(now)
    lost = chosen[chosen.tries.eq(1) & chosen.sharing.eq("shared") & chosen.seed.eq(1)].iloc[0][
        "id"
    ]
    place = next(n for n, line in enumerate(lines) if line.startswith(lost))
    broken = '"failed: no file /home/somebody/x.py (https://a.b/c)"'
    lines[place] = lines[place].replace(",ok,", f",{broken},", 1)
    foreign = ",".join(["0" * 12, *lines[1].split(",")[1:]])
    half = lines[1][:40]  # of a run that is being written
    typed = json.dumps(made_by | {"command": "etgp-viz --output /home/somebody/x.csv"})
    alone = foreign.replace(",2,", ",1,", 1)
    first.write_text("\n".join([f"# {typed}", *lines, alone, half]), encoding="utf-8")
    folder = tmp_path / "grid-details"
    folder.mkdir()
    with gzip.open(results.FOLDER / results.DETAILS, "rt") as file:
        for name, detail in json.load(file).items():
            (folder / f"{name}.json").write_text(json.dumps(detail))
    second.mkdir()
    made, details = results.ship(first, second)
    text = made.read_text(encoding="utf-8")
    assert "/home" not in text
    assert "https" not in text
    assert "failed: no file … (…)" in text
    back = experiments.load(made)
    assert back["id"].tolist() == now["id"].tolist()
    assert len(runs) == int(made_by["runs"].split()[0])
    count, rest = made_by["runs"].split(" ", 1)
    assert back.attrs == made_by | {"runs": f"{int(count) - 1} {rest}"}
    # The bytes of the archives depend on Python and zlib; what is in them does not.
    shipped = (results.FOLDER / results.DETAILS).read_bytes()
    assert gzip.decompress(details.read_bytes()) == gzip.decompress(shipped)

"""The recipe: complete, loadable, explained, and never written over somebody's files."""

import json
from pathlib import Path

import pytest

from etgp_viz.cli.main import main
from etgp_viz.hub.plan import RESERVE, Figures, Plan, figures
from etgp_viz.hub.recipe import KERNEL, write_recipe

PLAN = Plan(students=30, memory=24)


class Lists(dict):
    """Stands in for traitlets' configuration: any attribute, lists and dictionaries to add to."""

    def __getattr__(self, name):
        kind = {"args": list, "load_roles": list, "services": list, "environment": dict}
        return self.setdefault(name, kind.get(name, Lists)())

    __setattr__ = dict.__setitem__


def configured(path):
    """What a configuration file of the recipe sets."""
    c = Lists()
    exec(compile(path.read_text(), str(path), "exec"), {"get_config": lambda: c})
    return c


@pytest.mark.parametrize("name", ["jupyterhub_config.py", "tljh/etgp_viz.py"])
def test_both_hubs_get_the_same_students(name, tmp_path):
    write_recipe(tmp_path / "class", PLAN)
    spawner = configured(tmp_path / "class" / name).Spawner
    assert spawner.cmd[0].endswith("/etgp-viz")
    assert spawner.cmd[1:] == ["class", "start"]
    assert spawner.default_url == "/lab/tree/etgp-notebooks/00_start_here.ipynb"
    assert "--MappingKernelManager.cull_idle_timeout=1800" in spawner.args
    assert spawner.environment["JUPYTER_PATH"] == str(tmp_path / "class" / "share")


def test_a_plain_hub_limits_memory_and_stops_idle_servers(tmp_path):
    write_recipe(tmp_path / "class", PLAN)
    c = configured(tmp_path / "class" / "jupyterhub_config.py")
    assert c.Spawner.mem_limit == "1536M"
    assert [service["name"] for service in c.JupyterHub.services] == ["idle-culler"]
    assert (
        "tljh-config set limits.memory 1536M"
        in (tmp_path / "class" / "tljh" / "commands.sh").read_text()
    )


def test_the_kernelspec_names_files_that_exist(tmp_path):
    write_recipe(tmp_path / "class", PLAN, socket=tmp_path / "some.sock")
    spec = json.loads((tmp_path / "class" / KERNEL).read_text())
    _, options, script, sock, last = spec["argv"]
    assert options == "-IS"
    assert Path(script).is_file()
    assert (sock, last) == (str(tmp_path / "some.sock"), "{connection_file}")


def test_no_placeholder_is_left(tmp_path):
    for path in write_recipe(tmp_path / "class", PLAN):
        assert "$" not in path.read_text()


def test_a_recipe_can_be_written_again_but_not_over_other_files(tmp_path):
    write_recipe(tmp_path / "class", PLAN)
    write_recipe(tmp_path / "class", Plan(students=3, memory=8))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(ValueError, match="which holds other files"):
        write_recipe(tmp_path / "other", PLAN)
    with pytest.raises(ValueError, match="which is a file"):
        write_recipe(tmp_path / "other" / "thesis.tex", PLAN)


def test_the_command_prints_the_plan(tmp_path, capsys):
    assert main(["class", "init", str(tmp_path / "class"), "--students", "3", "--memory", "8"]) == 0
    text = capsys.readouterr().out
    assert "3 students fit" in text
    assert str(tmp_path / "class" / "README.md") in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--students", "0"], "students"),
        (["--memory", "1"], "memory"),
        (["--memory", "0"], "memory"),
    ],
)
def test_the_command_refuses_impossible_plans(options, message, tmp_path, capsys):
    assert main(["class", "init", str(tmp_path / "class"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "class").exists()


def test_a_plan_adds_up():
    measured = figures()
    for warm, kernel, fixed in (
        (True, measured.warm_kernel, measured.warm_process),
        (False, measured.ordinary_kernel, 0),
    ):
        count = PLAN.holds(warm)
        used = [1024 * RESERVE + fixed + k * (measured.server + kernel) for k in (count, count + 1)]
        assert used[0] <= 1024 * PLAN.memory < used[1]


def test_too_many_students_are_told(monkeypatch):
    monkeypatch.setattr("etgp_viz.hub.plan.figures", lambda: Figures(100, 500, 400, 100, 10, 1))
    assert "40 students do not fit: plan for 30" in Plan(students=40, memory=8).lines()[-1]


@pytest.mark.parametrize("name", ["$(touch x)", "`id`", 'a"b', "a\nb", "a;b", "a'b", "a\\b"])
def test_a_folder_whose_name_would_run_in_a_script_is_refused(tmp_path, name):
    """Root runs a script of the recipe in which the name of the folder stands."""
    with pytest.raises(ValueError, match=r"^folder: expected a name of letters, digits, spaces"):
        write_recipe(tmp_path / name, PLAN)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_space_and_an_umlaut_is_fine(tmp_path):
    assert write_recipe(tmp_path / "übung 1, a+b", PLAN)

"""Where a data set's file is looked for, and what is refused: every path, with a small server."""

import hashlib
import http.server
import io
import threading
import time
import zipfile

import pytest

from etgp_viz.datasets import fetch
from etgp_viz.datasets.fetch import DataNotFoundError, Source, cache_folder, fields, find

TABLE = b"0, 1.5, a\r\n1, -2.5, b\r\n" * 50


def zipped(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return content.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what ``server.answers`` holds for a path: bytes, or a function of itself."""

    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(404)
        elif callable(answer):
            answer(self)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answers, server.asked = {}, []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A cache and a data folder of the test's own, the second not yet named."""
    monkeypatch.setenv("ETGP_VIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ETGP_VIZ_DATA", raising=False)
    return tmp_path


@pytest.fixture
def source(server):
    def make(*paths, **changes):
        options = {
            "file": "toy/table.data",
            "page": "https://example.org/toy",
            "urls": tuple(f"http://127.0.0.1:{server.server_port}{path}" for path in paths),
            "limit": 10_000,
            "sha256": hashlib.sha256(TABLE).hexdigest(),
            "fields_sha256": hashlib.sha256(fields(TABLE)).hexdigest(),
        }
        return Source(**options | changes)

    return make


def get(source):
    return find(source, progress=False)


def test_a_download_is_kept(server, source, folders):
    server.answers["/table.data"] = TABLE
    path = get(source("/table.data"))
    assert path == folders / "cache/toy/table.data"
    assert path.read_bytes() == TABLE
    assert get(source("/table.data")) == path
    assert server.asked == ["/table.data"]
    assert [file.name for file in path.parent.iterdir()] == ["table.data"]


def test_the_data_folder_comes_first_and_is_only_read(server, source, folders, monkeypatch):
    own = folders / "mine/toy/table.data"
    own.parent.mkdir(parents=True)
    own.write_bytes(TABLE)
    monkeypatch.setenv("ETGP_VIZ_DATA", str(folders / "mine"))
    assert get(source("/table.data")) == own
    own.write_bytes(TABLE + b"more")
    with pytest.raises(
        ValueError, match=r"table\.data: expected sha256 .*, got .*Replace the file"
    ):
        get(source("/table.data"))
    assert own.read_bytes() == TABLE + b"more"
    assert server.asked == []
    own.unlink()
    server.answers["/table.data"] = TABLE
    assert get(source("/table.data")) == folders / "cache/toy/table.data"


def test_a_member_of_an_archive_is_taken_by_its_name(server, source, folders):
    server.answers["/a.zip"] = zipped(
        **{"..__..__evil.txt": b"x", "some__where__table.data": TABLE}
    )
    path = get(source("/a.zip"))
    assert path.read_bytes() == TABLE
    assert not (folders / "evil.txt").exists()
    assert [file.name for file in path.parent.iterdir()] == ["table.data"]


def test_the_same_table_with_other_separators_passes(server, source):
    server.answers["/t"] = TABLE.replace(b", ", b"   ").replace(b"\r\n", b"\n")
    assert get(source("/t")).read_bytes().startswith(b"0   1.5   a\n")


def test_the_next_address_is_tried(server, source):
    server.answers["/new"] = TABLE
    assert get(source("/old", "/new")).read_bytes() == TABLE
    assert server.asked == ["/old", "/new"]


def test_a_damaged_file_in_the_cache_is_set_aside_and_fetched_again(server, source, folders):
    cached = folders / "cache/toy/table.data"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(TABLE[:100])
    server.answers["/t"] = TABLE
    with pytest.warns(
        RuntimeWarning, match=r"expected sha256 .* set aside as table\.data\.damaged"
    ):
        assert get(source("/t")) == cached
    assert cached.read_bytes() == TABLE
    assert cached.with_name("table.data.damaged").read_bytes() == TABLE[:100]


def test_without_a_network_the_message_says_what_to_put_where(source, folders, monkeypatch):
    monkeypatch.setenv("ETGP_VIZ_DATA", str(folders / "mine"))
    with pytest.raises(DataNotFoundError) as caught:
        get(source(urls=("http://127.0.0.1:9/t",)))
    text = str(caught.value)
    for part in (
        f"table.data is not at {folders / 'mine/toy/table.data'}",
        f"or {folders / 'cache/toy/table.data'}",
        "Connection refused",
        "Get it from https://example.org/toy",
        "ETGP_VIZ_DATA",
    ):
        assert part in text


def cut_short(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(TABLE)))
    handler.end_headers()
    handler.wfile.write(TABLE[:200])


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b"0" * 1000)


def silent(handler):
    time.sleep(1.0)


def bomb(name="table.data", size=1_000_000):
    """A small archive whose member is far larger than the limit, and says it is small."""
    content = zipped(**{name: b"0" * size})
    stated = size.to_bytes(4, "little")
    assert content.count(stated) == 2
    return content.replace(stated, (9000).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (TABLE[:-3], "expected sha256"),
        (cut_short, "bytes"),
        (b"0" * 20_000, "expected at most 10000 bytes, got 20000"),
        (endless, "expected at most 10000 bytes, got more"),
        (silent, "timed out"),
        (zipped(**{"table.data": b"0" * 20_000}), "expected at most 10000 bytes of table.data"),
        (bomb(), "Bad CRC-32"),
        (zipped(**{"other.data": TABLE}), "expected one table.data in the archive, got 0"),
        (zipped(a__table=b"", **{"a__table.data": TABLE, "b__table.data": TABLE}), "got 2"),
        (zipped(**{"table.data": TABLE}).replace(b"table.data", b"table.dat\x00"), "got 0"),
        (b"<html>moved</html>", "expected sha256"),
    ],
)
def test_a_bad_answer_leaves_nothing_behind(server, source, folders, monkeypatch, answer, says):
    monkeypatch.setattr(fetch, "TIMEOUT", 0.3)
    server.answers["/t"] = answer
    with pytest.raises(DataNotFoundError) as caught:
        get(source("/t"))
    assert says in str(caught.value)
    assert list((folders / "cache/toy").iterdir()) == []


def test_a_slow_answer_ends(server, source, monkeypatch):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(50):
            handler.wfile.write(b"0")
            handler.wfile.flush()
            time.sleep(0.02)

    monkeypatch.setattr(fetch, "DEADLINE", 0.1)
    server.answers["/t"] = drip
    with pytest.raises(DataNotFoundError, match="not complete after 0 seconds"):
        get(source("/t"))


def test_an_archive_without_a_checksum_must_be_whole(server, source, folders):
    archive = zipped(**{"a.png": b"x" * 100})
    options = {"file": "toy/images.zip", "sha256": None, "fields_sha256": None}
    server.answers["/t"] = archive[:-10]
    with pytest.raises(DataNotFoundError, match="expected a complete zip archive"):
        get(source("/t", **options))
    server.answers["/t"] = archive
    assert get(source("/t", **options)).read_bytes() == archive


def test_the_cache_of_each_platform(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("ETGP_VIZ_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    expected = {"linux": "xdg", "darwin": "Library/Caches", "win32": "local"}
    for platform, folder in expected.items():
        monkeypatch.setattr(fetch.sys, "platform", platform)
        assert cache_folder() == tmp_path / folder / "etgp-viz"
    monkeypatch.setattr(fetch.sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache/etgp-viz"


def test_a_cache_that_cannot_be_written(source, folders, server):
    (folders / "cache").write_text("in the way")
    server.answers["/t"] = TABLE
    with pytest.raises(DataNotFoundError, match="could not be downloaded"):
        get(source("/t"))

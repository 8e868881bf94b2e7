"""The live view answers its own page only: raw requests, without a browser."""

import base64
import socket
import threading

import pytest

import fallingcat as fc
from fallingcat.viewer import access_control as gate

viser = pytest.importorskip("viser")


@pytest.fixture(scope="module")
def viewer():
    started = fc.viewer.view(fc.robots.two_cylinder_cat(), port=18_180)
    yield started
    started.stop()


def status(viewer, path, host=None, origin=None, socket_wanted=False, more=()):
    """The status of the answer to a request, as a program that lies about everything can send it."""
    port = viewer.server.get_port()
    lines = [f"GET {path} HTTP/1.1", *([f"Host: {host or f'127.0.0.1:{port}'}"] if host != "" else [])]
    lines += [f"Origin: {origin}"] if origin else []
    if socket_wanted:
        key = base64.b64encode(b"0123456789abcdef").decode()
        lines += ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        lines += [f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as out:
        out.sendall("\r\n".join([*lines, *more, "", ""]).encode("latin-1"))
        return int(out.recv(65536).split()[1])


def path(viewer):
    return "/" + viewer.url.split("/", 3)[3]


@pytest.mark.parametrize(("socket_wanted", "good"), [(False, 200), (True, 101)])
def test_only_its_own_page_is_answered(viewer, socket_wanted, good):
    own, port = path(viewer), viewer.server.get_port()

    def asked(*arguments, **options):
        return status(viewer, *arguments, socket_wanted=socket_wanted, **options)

    assert asked(own) == asked(own + "?x=1") == good
    assert asked(own, origin=f"http://127.0.0.1:{port}") == good
    assert asked(own, f"localhost:{port}", f"http://localhost:{port}") == good
    assert asked(own, "localhost:9999", "http://localhost:9999") == good  # through a tunnel
    for wrong in ("/", "/index.html", "/x" + own, own[:-3], "/" + own[1:].swapcase(), "/\xe9/", "//", "/?" + own):
        assert asked(wrong) == 403, wrong
    for host in (f"cat.example:{port}", "cat.example", f"127.0.0.1.cat.example:{port}", f"0.0.0.0:{port}"):
        assert asked(own, host) == 403, host
    for origin in ("http://cat.example", f"https://127.0.0.1:{port}", "http://127.0.0.1:3000", "null", "file://"):
        assert asked(own, origin=origin) == 403, origin
    assert asked(own, more=[f"Host: localhost:{port}"]) == 403  # two of them
    assert asked(own, origin=f"http://127.0.0.1:{port}", more=["Origin: http://cat.example"]) == 403


def test_every_view_has_a_token_of_its_own(viewer):
    other = fc.viewer.view(fc.robots.two_cylinder_cat(), port=18_190)
    try:
        assert path(viewer) != path(other)
        assert len(path(other)) > 20
        assert status(other, path(viewer)) == 403
        assert status(other, path(other)) == 200
    finally:
        other.stop()


def test_a_viser_that_cannot_be_guarded_is_not_shown(monkeypatch):
    from viser.infra import _infra

    before = threading.active_count()
    monkeypatch.setattr(gate, "_ModuleOverlay", lambda module, **_: module)  # as if it started otherwise
    with pytest.raises(fc.FallingCatError, match="cannot be guarded"):
        fc.viewer.view(fc.robots.two_cylinder_cat(), port=18_200)
    assert threading.active_count() <= before
    assert not isinstance(_infra.websockets, gate._ModuleOverlay if isinstance(gate._ModuleOverlay, type) else ())
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", 18_200), timeout=5.0)

"""Access to a live view: pages of this computer that know the token of its address.

A server on this computer can be reached by every page that its browser shows.  Three checks keep them out, for files
and web sockets alike: the ``Host`` is this computer (no name that was pointed here), the ``Origin``, if any, is the
view itself, and the path begins with a token that only the printed address has.
"""

from __future__ import annotations

import importlib
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from ..errors import FallingCatError

THIS_COMPUTER: Final = ("127.0.0.1", "localhost")
_START_LOCK: Final = threading.Lock()


def refusal(path: str, hosts: list[str], origins: list[str], token: str) -> str | None:
    """Reason why a request is refused; None where it may pass.

    Example:
        >>> refusal("/secret/", ["127.0.0.1:8080"], ["http://127.0.0.1:8080"], "secret")
        >>> refusal("/secret/", ["127.0.0.1:8080"], ["http://cat.example"], "secret")
        'the view is shown to its own page only'
        >>> refusal("/", ["127.0.0.1:8080"], [], "secret")
        'open the whole address that was printed, with its token'
    """
    if len(hosts) != 1 or hosts[0].lower().partition(":")[0] not in THIS_COMPUTER:
        return "the view is at 127.0.0.1 or localhost only"
    if origins and [origin.lower() for origin in origins] != [f"http://{hosts[0].lower()}"]:
        return "the view is shown to its own page only"
    first = path.partition("?")[0].lstrip("/").partition("/")[0]
    if not secrets.compare_digest(first.encode(errors="replace"), token.encode()):
        return "open the whole address that was printed, with its token"
    return None


@contextmanager
def require_token(token: str) -> Iterator[None]:
    """Guard the server that viser starts inside: it answers requests with this token alone.

    Viser has no hook for that, so the function with which it starts its web server is wrapped meanwhile; an error where
    it does not use it.
    """
    _infra: Any = importlib.import_module("viser.infra._infra")

    used: list[str] = []

    def serve(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            headers = request.headers
            why = refusal(request.path, headers.get_all("Host"), headers.get_all("Origin"), token)
            if why is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, why + "\n")
            request.path = "/" + request.path.lstrip("/").partition("/")[2]
            return process_request(connection, request)

        used.append(token)
        return real.asyncio.server.serve(*arguments, process_request=process, **options)

    with _START_LOCK:
        real: Any = getattr(_infra, "websockets", None)
        if real is None:
            raise FallingCatError("this version of viser cannot be guarded: no view is shown")
        server = _ModuleOverlay(real.asyncio.server, serve=serve)
        _infra.websockets = _ModuleOverlay(real, asyncio=_ModuleOverlay(real.asyncio, server=server))
        try:
            yield
        finally:
            _infra.websockets = real
    if not used:
        raise FallingCatError("this version of viser cannot be guarded: no view is shown")


class _ModuleOverlay:
    """A module with some other names."""

    def __init__(self, module: Any, **own: Any) -> None:
        self.__dict__.update(own, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

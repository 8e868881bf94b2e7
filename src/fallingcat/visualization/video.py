"""The scene of a page as a video: a browser draws every picture and encodes it, at its own pace."""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

from ..errors import ExtraMissingError, FallingCatError, FileError
from ..io.files import write_bytes
from .animation import Scene
from .mp4 import mp4
from .page import Page

CODECS: Final = ("avc1.640028", "avc1.42E01F", "vp09.00.31.08")
"""Codecs that are tried, the best first: not every browser has H.264."""
ATTEMPTS: Final = 3
"""Browsers that are started for one video: on a busy machine one may lose its graphics process."""
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SCENE_ONLY_CSS: Final = """
.scene { position: fixed; inset: 0; z-index: 9; border: 0; border-radius: 0; min-height: 0; }
.scene .hint, .scene .switches { display: none; }
"""


def write_video(page: Page, path: str | os.PathLike[str], rate: int = 30, size: tuple[int, int] = (960, 720)) -> Path:
    """Write the first scene of a page to an ``.mp4`` or ``.gif`` file of ``rate`` pictures a second.

    Needs the extra ``video`` and Chromium: one of the system, or that of ``playwright install chromium``.
    """
    suffix, scene = _suffix(path, ".mp4", ".gif"), _scene(page)
    first, last = float(scene.times[0]), float(scene.times[-1])
    count = max(2, round((last - first) / scene.speed * rate) + 1)
    asked = {"times": np.linspace(first, last, count).tolist(), "rate": rate, "codecs": CODECS, "bits": 8_000_000}
    width, height = (2 * max(1, round(side / 2)) for side in size)  # H.264 has even sides
    return _write_video(page, path, suffix, asked, (width, height))


def write_picture(page: Page, path: str | os.PathLike[str], size: tuple[int, int] = (960, 720)) -> Path:
    """Write the first scene of a page, as it is at its first time, to a ``.png`` file; needs what videos need."""
    return _write_video(page, path, _suffix(path, ".png"), {"times": [float(_scene(page).times[0])]}, size)


def _suffix(path: str | os.PathLike[str], *known: str) -> str:
    suffix = PurePath(path).suffix.lower()
    if suffix not in known:
        kind = "pictures" if known == (".png",) else "videos"
        raise FileError(f"{kind} are written to {' and '.join(known)} files, not to {suffix!r}", file=path)
    return suffix


def _scene(page: Page) -> Scene:
    scene = next((block for block in page.blocks if isinstance(block, Scene)), None)
    if scene is None:
        raise FallingCatError("a page without a scene has no video")
    return scene


def _write_video(
    page: Page, path: str | os.PathLike[str], suffix: str, asked: dict[str, Any], size: tuple[int, int]
) -> Path:
    with ThreadPoolExecutor(1) as thread:  # of its own: notebooks have a loop that playwright does not share
        content = thread.submit(_encode_page, page, suffix, asked, size).result()
    write_bytes(path, content)
    return Path(path)


def _encode_page(page: Page, suffix: str, asked: dict[str, Any], size: tuple[int, int]) -> bytes:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        purpose = "a picture" if suffix == ".png" else "a video"
        raise ExtraMissingError("video", package="playwright", purpose=purpose) from None
    call = {".gif": "encodeGif", ".mp4": "encodeFrames", ".png": "encodePicture"}[suffix]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file = page.write(Path(folder, "page.html"))
        for left in reversed(range(ATTEMPTS)):
            try:
                made = _browser_result(_browser(started.chromium, Error), file, call, asked, size)
                break
            except Error as error:
                if not left:
                    reason = str(error).splitlines()[0].removeprefix("Page.evaluate: Error: ")
                    message = f"the browser did not make the {suffix[1:]} file in {ATTEMPTS} attempts: {reason}"
                    raise FallingCatError(message) from error
    if suffix != ".mp4":
        return b"".join(base64.b64decode(part) for part in made)
    if made is None or made["trouble"]:
        raise FallingCatError(f"the browser has no encoder for the video: {(made or {}).get('trouble')}")
    chunks = [(bool(key), base64.b64decode(data)) for key, data in made["chunks"]]
    side = (int(made["width"]), int(made["height"]))
    return mp4(made["codec"], base64.b64decode(made["description"]), chunks, side, int(asked["rate"]))


def _browser_result(browser: Any, file: Path, call: str, asked: dict[str, Any], size: tuple[int, int]) -> Any:
    """Result of a function of ``encode.js`` on a page of its own; the browser is closed in any case."""
    scripts = (resources.files(__package__) / "encode.js").read_text(encoding="utf-8")
    with browser:
        view = browser.new_page(viewport={"width": size[0], "height": size[1]})
        view.add_init_script("window.fallingcatSmooth = true;")
        view.goto(file.as_uri())
        view.evaluate("window.fallingcat.playing = false")
        view.add_style_tag(content=_SCENE_ONLY_CSS)
        return view.evaluate(f"(asked) => {{ {scripts}\nreturn {call}(asked); }}", asked)


def _browser(chromium: Any, error: type[Exception]) -> Any:
    """Playwright's own, or one of the system."""
    arguments = ["--enable-unsafe-swiftshader"] + (["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else [])
    try:
        return chromium.launch(args=arguments)
    except error:
        found = next(filter(None, map(shutil.which, _BROWSERS)), None)
        if found is None:
            raise FallingCatError("videos need Chromium: run 'playwright install chromium'") from None
        return chromium.launch(executable_path=found, args=arguments)

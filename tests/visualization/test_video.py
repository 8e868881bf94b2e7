"""Videos: a browser plays what was written, and finds the pictures in it that the page shows."""

import shutil
import sys

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ExtraMissingError, FallingCatError, FileError, ModelError
from fallingcat.visualization import Capsule, Page, Scene, video
from fallingcat.visualization.mp4 import mp4
from fallingcat.visualization.video import write_video

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def ball_page(**more):
    """An orange ball that moves across the picture in one second."""
    times = np.linspace(0.0, 1.0, 11)
    poses = np.tile(np.eye(4), (11, 1, 1))
    poses[:, 1, 3] = np.linspace(-1.0, 1.0, 11)
    ball = Capsule((0, 0, 0), (0, 0, 0), 0.3, "#ff6600")
    return Page("ball", blocks=[Scene(times, {"ball": poses}, {"ball": [ball]}, floor=False, azimuth=0.0, **more)])


PLACE = """async ([file, t]) => {
  const moves = file.endsWith("mp4"), shown = document.createElement(moves ? "video" : "img");
  document.body.append(shown);
  const loaded = new Promise((done, wrong) => {
    shown[moves ? "onloadeddata" : "onload"] = done;
    shown.onerror = wrong;
  });
  shown.src = file;
  await loaded;
  if (moves) await new Promise((done) => {  // until that picture is on the screen: a busy browser seeks before it draws
    const look = (_, { mediaTime }) => Math.abs(mediaTime - t) < 0.03 ? done() : shown.requestVideoFrameCallback(look);
    shown.requestVideoFrameCallback(look);
    setTimeout(done, 10_000);
    shown.currentTime = t;
  });
  const size = [shown.videoWidth ?? shown.naturalWidth, shown.videoHeight ?? shown.naturalHeight];
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = size;
  const c = copy.getContext("2d", { willReadFrequently: true });  // in memory: no graphics process to lose
  c.drawImage(shown, 0, 0);
  const { data } = c.getImageData(0, 0, ...size);
  let sum = 0, count = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i] > 120 && data[i + 2] < 0.6 * data[i]) { sum += ((i / 4) % size[0]) / size[0]; count++; }
  return { size, duration: shown.duration ?? null, place: count ? sum / count : null, count };
}"""


def look(path, *times):
    """What a browser shows at each of the times."""
    with playwright.sync_playwright() as started:
        files = ["--no-sandbox", "--allow-file-access-from-files"]
        browser = started.chromium.launch(executable_path=CHROMIUM, args=files)
        page = browser.new_page()
        (path.parent / "empty.html").write_text("<body></body>")
        page.goto((path.parent / "empty.html").as_uri())
        seen = [page.evaluate(PLACE, [path.as_uri(), t]) for t in times]
        browser.close()
    return seen


@needs_browser
def test_a_browser_plays_the_video_and_the_ball_is_where_it_was(tmp_path):
    write_video(ball_page(speed=2.0), tmp_path / "ball.mp4", rate=20, size=(161, 120))
    early, late = look(tmp_path / "ball.mp4", 0.05, 0.45)
    assert early["size"] == [160, 120]
    assert early["duration"] == pytest.approx(11 / 20)  # half a second, and the last picture
    assert 0.05 < early["place"] < 0.4
    assert 0.6 < late["place"] < 0.95


@needs_browser
def test_a_browser_shows_the_gif(tmp_path):
    write_video(ball_page(), tmp_path / "ball.gif", rate=5, size=(160, 120))
    (seen,) = look(tmp_path / "ball.gif", 0.0)
    assert seen["size"] == [160, 120]
    assert 0.0 < seen["place"] < 0.4
    content = (tmp_path / "ball.gif").read_bytes()
    assert content.count(b"\x21\xf9\x04") == 6  # pictures


LOSS = """() => {
  const draw = WebGL2RenderingContext.prototype.drawArrays;
  let count = 0;
  WebGL2RenderingContext.prototype.drawArrays = function (...numbers) {
    if (++count === 20) this.getExtension("WEBGL_lose_context").loseContext();
    draw.apply(this, numbers);
  };
}"""


def lose_graphics(monkeypatch, browsers):
    """Let the first browsers lose their WebGL context after 20 drawing calls, as one without its graphics process."""
    launch, started = video._browser, []

    def launch_and_lose(*arguments):
        browser = launch(*arguments)
        started.append(browser)
        if len(started) <= browsers:
            new_page = browser.new_page

            def opened(**options):
                page = new_page(**options)
                page.add_init_script(f"({LOSS})()")
                return page

            browser.new_page = opened
        return browser

    monkeypatch.setattr(video, "_browser", launch_and_lose)
    return started


@needs_browser
def test_a_browser_that_loses_its_graphics_is_started_again(monkeypatch, tmp_path):
    started = lose_graphics(monkeypatch, browsers=1)
    write_video(ball_page(speed=2.0), tmp_path / "ball.mp4", rate=20, size=(160, 120))
    assert len(started) == 2
    (seen,) = look(tmp_path / "ball.mp4", 0.45)
    assert 0.6 < seen["place"] < 0.95


@needs_browser
@pytest.mark.parametrize(
    ("suffix", "attempts"), [(".mp4", 1), *(pytest.param(x, 3, marks=pytest.mark.slow) for x in (".mp4", ".gif"))]
)
def test_a_black_video_is_an_error(monkeypatch, tmp_path, suffix, attempts):
    monkeypatch.setattr(video, "ATTEMPTS", attempts)
    started = lose_graphics(monkeypatch, browsers=attempts)
    with pytest.raises(FallingCatError, match=f"in {attempts} attempts: the WebGL context was lost"):
        write_video(ball_page(speed=2.0), tmp_path / f"ball{suffix}", rate=20, size=(160, 120))
    assert len(started) == attempts
    assert list(tmp_path.iterdir()) == []


def boxes(data):
    """The boxes of an MP4 file, flat, by name."""
    found, stack = {}, [data]
    while stack:
        rest = stack.pop()
        while rest:
            length, name = int.from_bytes(rest[:4], "big"), rest[4:8].decode()
            assert 8 <= length <= len(rest)
            found[name] = rest[8:length]
            if name in ("moov", "trak", "mdia", "minf", "stbl"):
                stack.append(rest[8:length])
            rest = rest[length:]
    return found


def test_offsets_of_an_mp4_file_lead_to_its_pictures():
    chunks = [(True, b"first"), (False, b"second"), (True, b"third!!")]
    data = mp4("avc1.640028", b"\x01\x64", chunks, (320, 240), 30)
    found = boxes(data)
    start = int.from_bytes(found["stco"][8:12], "big")
    assert data[start : start + 18] == b"firstsecondthird!!"
    sizes = [int.from_bytes(found["stsz"][12 + 4 * i : 16 + 4 * i], "big") for i in range(3)]
    assert sizes == [5, 6, 7]
    assert found["stss"][4:] == bytes([0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3])
    assert int.from_bytes(found["mdhd"][16:20], "big") == 3 * 3000


def ball():
    """A free orange ball."""
    shape = fc.model.shapes.Sphere(0.3, color=(1.0, 0.4, 0.0, 1.0))
    return fc.Model("ball", fc.lie.SE3(), (fc.Link("ball", fc.Body(1.0, np.zeros(3), np.eye(3)), (shape,)),))


@needs_browser
def test_a_picture_shows_the_robot_at_its_state(tmp_path):
    model = fc.robots.quadruped()
    floor = fc.contact.HardContacts(tuple(frame.name for frame in model.frames))
    state = model.standing(floor, [0.0, 0.6, -1.2] * 4)
    path = fc.visualization.picture(model, state, tmp_path / "dog.png", ground=floor, size=(321, 200))
    (seen,) = look(path, 0.0)
    assert seen["size"] == [321, 200]
    assert seen["count"] > 1000  # an orange trunk
    assert 0.3 < seen["place"] < 0.7


def test_states_are_played_at_their_times():
    model, times = ball(), [0.0, 0.1, 0.4]
    states = [model.state(position=[x, 0.0, 0.0]) for x in times]
    for given in (states, fc.State.stack(states)):
        (scene,) = fc.visualization.play(model, given, times, speed=0.5).blocks
        assert scene.poses["ball"][:, 0, 3].tolist() == scene.times.tolist() == times
        assert (scene.speed, scene.floor) == (0.5, False)
    (scene,) = fc.visualization.play(model, states).blocks
    np.testing.assert_allclose(np.diff(scene.times), 1 / 30)


def test_planar_robots_are_upright_on_their_ground():
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.HardContacts(("foot",), height=0.2)
    (scene,) = fc.visualization.play(hopper, [hopper.state(position=[0.1, 0.5, 0.0])], [0.0], ground=floor).blocks
    np.testing.assert_allclose(scene.poses[hopper.link_names[0]][0, :3, 3], [0.1, 0.0, 0.5], atol=1e-15)
    np.testing.assert_allclose(scene.floor[:3, 2:], [[0, 0], [0, 0], [1, 0.2]], atol=1e-15)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, s: fc.visualization.play(m, []), "no state to play"),
        (lambda m, s: fc.visualization.play(m, [s, s], [0.0, 0.0]), "times are 2 growing numbers"),
        (lambda m, s: fc.visualization.play(m, [s, s], [0.0]), "times are 2 growing numbers"),
        (lambda m, s: fc.visualization.play(m, [s], ground="floor"), "ground is a contact"),
        (lambda m, s: fc.visualization.play(m, [s], speed=0.0), "speed is a positive number"),
        (lambda m, s: fc.visualization.picture(m, s, "x.bmp"), "pictures are written to .png files"),
        (lambda m, s: fc.visualization.picture(m, s, "x.png", size=(1, 1)), "size is width and height in pixels"),
        (lambda m, s: fc.visualization.picture(m, s, "x.png", azimuth=np.nan), "azimuth is an angle"),
        (lambda m, s: fc.visualization.picture(m, fc.robots.cat().neutral(), "x.png"), "joints must have shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(FallingCatError, match=words):
        call(ball(), ball().neutral())


def test_a_missing_extra_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(ExtraMissingError) as caught:
        write_video(ball_page(), tmp_path / "ball.mp4")
    assert str(caught.value) == "a video needs playwright: pip install '.[video]' in a clone of fallingcat"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_browser_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(video.shutil, "which", lambda name: None)
    with pytest.raises(FallingCatError, match="playwright install chromium"):
        write_video(ball_page(), tmp_path / "ball.mp4")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda run, at: run.video(at / "a.avi"), FileError, ".mp4 and .gif"),
        (lambda run, at: run.video(at / "a.mp4", rate=0), ModelError, "rate is a number of pictures"),
        (lambda run, at: run.video(at / "a.mp4", rate=True), ModelError, "rate is a number of pictures"),
        (lambda run, at: run.video(at / "a.mp4", size=(1, 2)), ModelError, "size is width and height"),
        (lambda run, at: run.video(at / "a.mp4", size=3), ModelError, "size is width and height"),
        (lambda run, at: run.video(at / "a.mp4", speed=0.0), FallingCatError, "speed"),
        (lambda run, at: run.video(3), FallingCatError, ""),
    ],
)
def test_wrong_wishes_are_named(tmp_path, call, error, words):
    body = fc.robots.free_body()
    with pytest.raises(error) as caught:
        call(fc.simulate(body, body.neutral(), 0.0), tmp_path)
    assert words in str(caught.value)


def test_a_page_without_a_scene_has_no_video(tmp_path):
    with pytest.raises(FallingCatError, match="without a scene"):
        write_video(Page("still"), tmp_path / "a.mp4")

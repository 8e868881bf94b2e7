// Puts the page together and moves everything along one time line.

(function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  document.title = data.title;
  get("title").textContent = data.title;
  get("subtitle").textContent = data.subtitle;
  for (const fact of data.facts) {
    const card = element("div", "fact");
    card.append(element("span", "", fact.label), element("b", "", fact.value));
    if (fact.note) card.append(element("small", "", fact.note));
    get("facts").append(card);
  }
  const makers = { scene: makeScene, map: makeMap, chart: makeChart, table: makeTable, picture: makePicture, text: makeText };
  const shown = data.blocks.map((block) => makers[block.kind](get("blocks"), block));
  const scene = data.blocks.find((block) => block.kind === "scene");
  if (!scene) {
    document.body.classList.add("still");
    shown.forEach((one) => one.show(null));
    return;
  }

  if (scene.live) return runLive(scene.live, shown[data.blocks.indexOf(scene)], get);

  const first = scene.t[0], last = scene.t[scene.t.length - 1], pause = 0.9; // seconds of rest at the end
  const state = { t: first, playing: true, speed: scene.speed, wait: 0, frame: null, ended: null };
  state.canvas = shown[data.blocks.indexOf(scene)].canvas;
  state.seek = (t) => { state.playing = false; state.t = t; show(); };
  state.start = (ended) => { state.playing = true; state.t = first; state.wait = 0; state.ended = ended; show(); };
  window.fallingcat = state;
  get("controls").hidden = false;
  const line = get("timeline");
  line.min = first; line.max = last;
  for (const speed of [...new Set([0.05, 0.1, 0.25, 0.5, 1, scene.speed])].sort((a, b) => a - b)) {
    const option = element("option", "", speed === 1 ? "real time" : `${label(speed)} ×`);
    option.value = speed; option.selected = speed === scene.speed;
    get("speed").append(option);
  }
  const show = () => {
    line.value = state.t;
    get("clock").textContent = `${state.t.toFixed(3)} s`;
    get("play").textContent = state.playing ? "❚❚" : "▶";
    for (const one of shown) one.show(state.t);
  };
  const tick = (stamp) => {
    if (state.playing) {
      const passed = state.frame === null ? 0 : Math.min(0.1, (stamp - state.frame) / 1000);
      if (state.t >= last) {
        state.wait += passed;
        if (state.ended && state.wait > 0.1) { state.ended(); state.ended = null; }
        if (state.wait > pause) { state.t = first; state.wait = 0; }
      } else state.t = Math.min(last, state.t + state.speed * passed);
      show();
    }
    state.frame = stamp;
    requestAnimationFrame(tick);
  };
  get("play").addEventListener("click", () => {
    state.playing = !state.playing;
    if (state.playing && state.t >= last) state.t = first;
    show();
  });
  line.addEventListener("input", () => { state.playing = false; state.t = Number(line.value); show(); });
  get("speed").addEventListener("change", () => { state.speed = Number(get("speed").value); });
  recording(get("record"), state.canvas, state, data.title);
  document.addEventListener("keydown", (e) => { if (e.key === " " && e.target === document.body) { e.preventDefault(); get("play").click(); } });
  show();
  requestAnimationFrame(tick);
})();

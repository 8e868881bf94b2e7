// A robot that the page simulates itself, under a policy that the page runs: generated functions come before this file.

// Multilayer perceptron with exponential linear units.
function perceptron(layers, seen) {
  let x = seen;
  layers.forEach(({ W, b }, k) => {
    const last = k === layers.length - 1, width = x.length, given = x;
    x = Float64Array.from(b, (sum, row) => {
      for (let i = 0, at = row * width; i < width; i++) sum += W[at + i] * given[i];
      return last || sum > 0 ? sum : Math.expm1(sum);
    });
  });
  return x;
}

function liveRobot(data) {
  const room = (made) => [new Float64Array(made.outputs), new Float64Array(made.work)];
  const [next, stepWork] = room(data.step), [seen, seenWork] = room(data.observe);
  const [inputs, controlWork] = room(data.control), [poses, posesWork] = room(data.poses);
  const call = (f, made, given, out, work) => f(...made.arguments.map((name) => given[name]), out, work);
  const robot = { command: data.commands.map((one) => one.value), poses };
  robot.begin = () => {
    robot.q = Float64Array.from(data.start.q); robot.v = Float64Array.from(data.start.v);
    robot.memory = Float64Array.from(data.start.memory); robot.action = new Float64Array(data.layers.at(-1).b.length); robot.time = 0;
  };
  robot.period = () => { // one action of the policy, and the steps for which it holds
    const { q, v, memory, action, command } = robot, given = { q, v, action, command, time: [robot.time] };
    call(fc_observe, data.observe, given, seen, seenWork);
    action.set(perceptron(data.layers, seen).map((x) => Math.max(-data.limit, Math.min(data.limit, x))));
    call(fc_control, data.control, given, inputs, controlWork);
    for (let k = 0; k < data.steps; k++) {
      call(fc_simulation_step, data.step, { q, v, memory, inputs }, next, stepWork);
      q.set(next.subarray(0, q.length)); v.set(next.subarray(q.length, q.length + v.length));
      memory.set(next.subarray(q.length + v.length));
    }
    robot.time += data.period;
    if (![...q, ...v].every(Number.isFinite)) robot.begin();
  };
  robot.place = () => { call(fc_poses, data.poses, { q: robot.q, v: robot.v }, poses, posesWork); return poses; };
  robot.begin();
  return robot;
}

function runLive(data, scene, get) {
  const robot = liveRobot(data), bar = element("section", "live"), again = element("button", "", "start again");
  again.type = "button";
  again.addEventListener("click", robot.begin);
  bar.append(again);
  data.commands.forEach((one, k) => {
    const label = element("label", "", one.name), slider = element("input");
    Object.assign(slider, { type: "range", min: one.low, max: one.high, step: "any", value: one.value });
    slider.addEventListener("input", () => { robot.command[k] = Number(slider.value); });
    label.append(slider);
    bar.append(label);
  });
  get("blocks").append(bar);
  document.body.classList.add("still");
  window.fallingcat = robot;
  let before = null, behind = 0;
  const tick = (stamp) => {
    behind += before === null ? 0 : Math.min(0.1, (stamp - before) / 1000);
    for (before = stamp; behind >= data.period; behind -= data.period) robot.period();
    const poses = robot.place();
    if (scene.parts) scene.parts.forEach((part, k) => { part.poses = poses.subarray(12 * k, 12 * k + 12); });
    scene.show(0);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

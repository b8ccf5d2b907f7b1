// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// Sliders, the forces that belong to their pose, the mass matrix, and a simulation.

const KINDS = {
  q: { title: "position", unit: (s) => s.unit },
  qd: { title: "velocity", unit: (s) => `${s.unit}/s` },
  qdd: { title: "acceleration", unit: (s) => `${s.unit}/s²` },
};
const RATE = { qd: 3, qdd: 10 }; // how far sliders of rates reach, in rad or m
const MOST_MATRIX = 40; // rows of a mass matrix that one can look at
const FREE = new Set(ROBOT.joints.flatMap((j) => j.moves.filter((m) => m.kind === "free").flatMap((m) => [0, 1, 2, 3, 4, 5].map((k) => m.v + k))));
const STIFFNESS = 8; // rad/s: how fast a held robot comes to its sliders
const GROUP = 16; // sliders that fold together
const SLIDING = 1e-2; // rad/s or m/s: the rate from which dry friction of the simulation is full

/** An element with properties; `class` and others with a hyphen are attributes. */
function make(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function button(label, act, properties = {}) {
  const made = make("button", { type: "button", textContent: label, ...properties });
  made.addEventListener("click", () => act(made));
  return made;
}

function choice(label, options, act) {
  const made = make("select", { ariaLabel: label }, ...options.map(([value, text]) => make("option", { value, textContent: text })));
  made.addEventListener("change", () => act(made.value));
  return make("label", { className: "choice" }, make("span", { textContent: label }), made);
}

const shown = (x, digits = 3) => (Math.abs(x) < 5e-7 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(digits)));

/** A number with so many decimals, and no sign before a zero. */
const rounded = (x, decimals) => x.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1");

/** Everything that depends on the state of the robot. `onChange(state)` is called after every change. */
async function makeRobot(host, onChange) {
  const state = { q: Float64Array.from(ROBOT.start), qd: new Float64Array(ROBOT.nv), qdd: new Float64Array(ROBOT.nv) };
  let target = Float64Array.from(ROBOT.start); // where a held robot is to be
  let kind = "q";
  const compiled = await loaded();
  const rows = [];
  const sums = make("p", { className: "sums", ariaLive: "off" });
  const matrix = compiled?.mass_matrix && ROBOT.nv > 1 && ROBOT.nv <= MOST_MATRIX ? matrixView() : null;
  const simulation = compiled?.step ? makeSimulation() : null;

  function readings() {
    const poses = compiled?.forward_kinematics ? posesFrom(compiled.forward_kinematics(state.q)) : posesOf(state.q);
    const gravity = compiled?.gravity_forces ? compiled.gravity_forces(state.q) : gravityForces(state.q);
    const still = state.qd.every((x) => x === 0) && state.qdd.every((x) => x === 0);
    const tau = compiled?.inverse_dynamics ? compiled.inverse_dynamics(state.q, state.qd, state.qdd) : still ? gravity : null;
    const mass = compiled?.mass_matrix && matrix ? compiled.mass_matrix(state.q) : null;
    return { poses, gravity, tau, mass };
  }

  function update() {
    const found = readings();
    showForces(found);
    showSums(found);
    matrix?.show(found.mass);
    onChange({ ...state, ...found });
  }

  // ------------------------------------------------------------------ sliders

  function valueOf(slider, from = state.q) {
    if (kind !== "q") return state[kind][slider.v];
    if (slider.q !== undefined) return from[slider.q];
    return rotationOf(from.subarray(slider.quaternion, slider.quaternion + 4))[slider.part];
  }

  function set(slider, value) {
    if (kind !== "q") {
      state[kind][slider.v] = value;
      return;
    }
    const q = simulation?.running ? target : state.q;
    if (slider.q !== undefined) q[slider.q] = value;
    else {
      const r = rotationOf(q.subarray(slider.quaternion, slider.quaternion + 4));
      r[slider.part] = value;
      q.set(quaternionOf(r), slider.quaternion);
    }
  }

  function rowOf(slider) {
    const name = make("label", { textContent: slider.label, title: slider.label, htmlFor: `slider${slider.v}` });
    const input = make("input", { type: "range", id: `slider${slider.v}`, step: "any" });
    const value = make("output", { htmlFor: input.id, className: "number" });
    const fill = make("i");
    const mark = make("b");
    const bar = make("div", { className: "bar", role: "img" }, fill, mark);
    const force = make("output", { className: "number force" });
    input.addEventListener("input", () => {
      set(slider, Number(input.value));
      refresh(false);
      update();
    });
    rows.push({ slider, input, value, fill, mark, bar, force });
    return make("div", { className: "row" }, name, input, value, bar, force);
  }

  /** All rows; many of them in groups, of which the first is open. */
  function folded(sliders) {
    if (sliders.length <= GROUP) return sliders.map(rowOf);
    const groups = [];
    for (let k = 0; k < sliders.length; k += GROUP) {
      const some = sliders.slice(k, k + GROUP);
      const title = `Joints ${k + 1} to ${k + some.length}: ${some[0].label} … ${some[some.length - 1].label}`;
      groups.push(make("details", { open: k === 0 }, make("summary", { textContent: title }), ...some.map(rowOf)));
    }
    return groups;
  }

  /** Sliders where the state is; one that is being dragged stays under the finger. */
  function refresh(all = true) {
    for (const { slider, input, value } of rows) {
      const [low, high] = kind === "q" ? [slider.lower, slider.upper] : [-RATE[kind], RATE[kind]];
      if (Number(input.min) !== low || Number(input.max) !== high) Object.assign(input, { min: low, max: high });
      const x = valueOf(slider, simulation?.running && kind === "q" ? target : state.q);
      if (all || document.activeElement !== input) input.value = x;
      const unit = KINDS[kind].unit(slider);
      const degrees = unit === "rad" ? ` ${rounded((x * 180) / Math.PI, 0)}°` : "";
      const text = `${rounded(x, 2)} ${unit}${degrees}`;
      if (value.textContent !== text) value.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
  }

  // ------------------------------------------------------------------ forces, sums, matrix

  const largest = { "N·m": 1e-9, N: 1e-9 };
  function showForces({ gravity, tau }) {
    for (const { slider } of rows) largest[slider.force] = Math.max(largest[slider.force], Math.abs((tau ?? gravity)[slider.v]) || 0);
    for (const { slider, fill, mark, bar, force } of rows) {
      const g = gravity[slider.v];
      const x = tau ? tau[slider.v] : NaN;
      const whole = slider.effort || largest[slider.force];
      const part = Math.max(-1, Math.min(1, x / whole)) || 0;
      const over = slider.effort && Math.abs(x) > slider.effort;
      fill.style.left = `${50 + 50 * Math.min(part, 0)}%`;
      fill.style.width = `${50 * Math.abs(part)}%`;
      fill.className = over ? "over" : "";
      mark.style.left = `${50 + 50 * Math.max(-1, Math.min(1, g / whole))}%`;
      force.textContent = Number.isFinite(x) ? `${over ? "▲ " : ""}${shown(x)} ${slider.force}` : "–";
      bar.setAttribute("aria-label", `${slider.label}: ${shown(x)} of ${slider.effort ? shown(slider.effort) : "no limit"} ${slider.force}`);
      bar.title = `${shown(x)} ${slider.force}, of which gravity ${shown(g)}` + (slider.effort ? `; limit ${shown(slider.effort)}` : "; no limit in the file");
    }
  }

  function showSums({ poses, mass }) {
    const [total, moment] = poses.reduce(
      ([m, c], T, k) => [m + ROBOT.masses[k], moved(T, ROBOT.centres[k]).map((x, i) => c[i] + ROBOT.masses[k] * x)],
      [0, [0, 0, 0]],
    );
    const kinetic = mass ? 0.5 * state.qd.reduce((s, x, i) => s + x * state.qd.reduce((t, y, j) => t + mass[ROBOT.nv * i + j] * y, 0), 0) : null;
    const summary = [
      `mass centre (${moment.map((x) => shown(x / (total || 1))).join(", ")}) m`,
      `potential energy ${shown(potentialEnergy(poses), 4)} J`,
      ...(kinetic === null ? [] : [`kinetic energy ${shown(kinetic)} J`]),
      ...(simulation?.running ? [`time ${simulation.time.toFixed(1)} s`] : []),
    ];
    sums.textContent = summary.join(" · ");
  }

  function matrixView() {
    const canvas = make("canvas", { id: "matrix", width: ROBOT.nv, height: ROBOT.nv, role: "img", ariaLabel: "Mass matrix" });
    const caption = make("p", { className: "note" });
    const host = make("figure", { className: "matrix" }, make("figcaption", { textContent: "Mass matrix" }), canvas, caption);
    let last = null;
    const names = [];
    for (const s of ROBOT.sliders) names[s.v] = s.label;
    canvas.addEventListener("pointermove", (e) => {
      const [j, i] = [e.offsetX / canvas.clientWidth, e.offsetY / canvas.clientHeight].map((x) => Math.min(ROBOT.nv - 1, Math.max(0, Math.floor(x * ROBOT.nv))));
      if (last) caption.textContent = `${names[i]}, ${names[j]}: ${shown(last[ROBOT.nv * i + j], 4)} (kg m², kg m or kg)`;
    });
    return {
      host,
      show(mass) {
        if (!mass) return;
        last = mass;
        const g = canvas.getContext("2d");
        if (!g) return;
        const image = g.createImageData(ROBOT.nv, ROBOT.nv);
        const most = Math.max(...mass.map(Math.abs)) || 1;
        mass.forEach((x, k) => {
          const t = Math.sqrt(Math.abs(x) / most);
          const end = x < 0 ? [213, 94, 0] : [0, 114, 178];
          for (let c = 0; c < 3; ++c) image.data[4 * k + c] = 255 + (end[c] - 255) * t;
          image.data[4 * k + 3] = 255;
        });
        g.putImageData(image, 0, 0);
        caption.textContent = `blue +, orange −, up to ${shown(most)} (kg m², kg m or kg)`;
      },
    };
  }

  // ------------------------------------------------------------------ simulation

  function makeSimulation() {
    const dt = DATA.live.dt;
    const one = { running: "", time: 0 };
    let before = 0;
    const held = ROBOT.sliders.filter((s) => !FREE.has(s.v));
    const missing = (s) => {
      if (s.q !== undefined) return target[s.q] - state.q[s.q];
      const [x, y, z, w] = state.q.subarray(s.quaternion, s.quaternion + 4);
      return rotationOf(multiplied([-x, -y, -z, w], target.subarray(s.quaternion, s.quaternion + 4)))[s.part];
    };

    /** Joint forces that bring the robot to its sliders as if each joint were a critically damped spring.
     *  They make up for damping, springs and dry friction of the joints, which would hold it back on its way. */
    function holding() {
      const wanted = new Float64Array(ROBOT.nv);
      const own = new Float64Array(ROBOT.nv);
      for (const s of held) {
        const left = missing(s);
        wanted[s.v] = STIFFNESS ** 2 * left - 2 * STIFFNESS * state.qd[s.v];
        own[s.v] = s.damping * state.qd[s.v] + s.friction * Math.max(-1, Math.min(1, (STIFFNESS * left) / SLIDING));
        if (s.stiffness) own[s.v] += s.stiffness * (state.q[s.q] - s.rest);
      }
      const tau = compiled.inverse_dynamics(state.q, state.qd, wanted).map((x, k) => x + own[k]);
      for (const v of FREE) tau[v] = 0; // nothing pushes a base that floats
      return tau;
    }

    function frame(now) {
      if (!one.running) return;
      const steps = Math.min(40, Math.max(1, Math.round((now - before) / 1000 / dt)));
      before = now;
      let tau = new Float64Array(ROBOT.nv);
      for (let k = 0; k < steps; ++k) {
        if (one.running === "hold" && k % 4 === 0) tau = holding();
        const [q, qd] = Object.values(compiled.step(state.q, state.qd, tau, [one.time]));
        if (!q.every(Number.isFinite)) return one.stop("The simulation left all bounds and was stopped.");
        state.q.set(q);
        state.qd.set(qd);
        one.time += dt;
      }
      refresh(one.running === "fall");
      update();
      requestAnimationFrame(frame);
    }

    one.start = (mode) => {
      const was = one.running;
      one.running = mode;
      if (mode === "fall") target = state.q;
      else if (target === state.q) target = Float64Array.from(state.q);
      if (was) return;
      one.time = 0;
      state.qdd.fill(0);
      before = performance.now();
      requestAnimationFrame(frame);
    };
    one.halt = (why = "") => {
      one.running = "";
      one.note.textContent = why;
      one.marked();
    };
    one.stop = (why = "") => {
      one.halt(why);
      reset(why ? ROBOT.start : state.q);
    };
    one.note = make("span", { className: "note", role: "status" });
    const buttons = [["Let go", "fall", "No joint forces: the robot falls"], ["Hold", "hold", "Joint forces bring the robot to its sliders; move them"]].map(
      ([label, mode, title]) => {
        const act = () => {
          one.note.textContent = "";
          if (one.running === mode) one.stop();
          else one.start(mode);
          one.marked();
        };
        return [mode, label, button(`▶ ${label}`, act, { title, id: `simulate-${mode}` })];
      },
    );
    one.marked = () => {
      for (const [mode, label, b] of buttons) {
        b.setAttribute("aria-pressed", String(one.running === mode));
        b.textContent = one.running === mode ? `■ Stop` : `▶ ${label}`;
      }
    };
    one.buttons = buttons.map(([, , b]) => b);
    return one;
  }

  // ------------------------------------------------------------------ all together

  function reset(q = ROBOT.start) {
    state.q.set(q);
    target = Float64Array.from(q);
    state.qd.fill(0);
    state.qdd.fill(0);
    refresh();
    update();
  }

  /** Bring the robot to a pose: a held one by its joint forces, any other at once, and at rest. */
  function go(q) {
    if (simulation?.running === "hold") {
      target = Float64Array.from(q);
      refresh();
      update();
      return;
    }
    simulation?.halt();
    reset(q);
  }

  function anywhere() {
    const q = Float64Array.from(ROBOT.start);
    for (const s of ROBOT.sliders) if (s.q !== undefined && !FREE.has(s.v)) q[s.q] = s.lower + Math.random() * (s.upper - s.lower);
    go(q);
  }

  host.append(
    make("h3", { textContent: "Pose and joint forces" }),
    make(
      "div",
      { className: "tools" },
      button("Neutral", () => go(ROBOT.start), { id: "neutral" }),
      button("Random pose", anywhere, { id: "random" }),
      ...(compiled?.inverse_dynamics ? [choice("Sliders", Object.entries(KINDS).map(([k, { title }]) => [k, title]), (k) => ((kind = k), refresh()))] : []),
      ...(simulation ? [...simulation.buttons, simulation.note] : []),
    ),
    make("div", { className: "rows", tabIndex: ROBOT.sliders.length > 14 ? 0 : -1 }, ...folded(ROBOT.sliders)),
    sums,
    make("p", { className: "note", id: "engine" }),
    ...(matrix ? [matrix.host] : []),
  );
  host.querySelector("#engine").textContent =
    (compiled ? "Forces by WebAssembly compiled for this robot. " : "Gravity forces by virtual work, in the script of this page. ") +
    "Bars reach to the limits of the file, or, where it has none, to the largest force seen; the tick is the share of gravity.";
  host.hidden = false;
  reset();
  return { state, reset, compiled, simulation };
}

async function loaded() {
  if (!COMPILED || !DATA.live || typeof WebAssembly === "undefined") return null;
  try {
    return await COMPILED.load(bytesOf64(DATA.live.module));
  } catch (error) {
    console.warn(`phalanx: no WebAssembly here (${error}); poses and gravity are computed by the page's script.`);
    return null;
  }
}

/** Poses from matrices of four rows, one after another. */
function posesFrom(matrices) {
  const poses = [];
  for (let k = 0; k < matrices.length; k += 16) poses.push(Array.from(matrices.subarray(k, k + 12)));
  return poses;
}

// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// The robot in 3D by WebGL: orbits with mouse, fingers and keys; tells which link is pointed at.

const FIELD = 0.6; // radians from the lower to the upper edge
const START = { yaw: (-50 * Math.PI) / 180, pitch: (18 * Math.PI) / 180 };
const VERTEX = `attribute vec3 place, normal; attribute vec4 colour; uniform mat4 camera, model; uniform float flatten, ground;
varying vec3 n; varying vec4 c;
void main() {
  vec4 p = model * vec4(place, 1.0);
  if (flatten > 0.5) p.z = ground;
  n = mat3(model[0].xyz, model[1].xyz, model[2].xyz) * normal; c = colour; gl_Position = camera * p;
}`;
const FRAGMENT = `precision mediump float; uniform vec4 tint, flat_; uniform vec3 toward; varying vec3 n; varying vec4 c;
void main() {
  if (flat_.a > 0.0) { gl_FragColor = vec4(flat_.rgb * flat_.a, flat_.a); return; }
  vec3 u = normalize(n); if (dot(u, toward) < 0.0) u = -u;
  vec3 key = normalize(vec3(0.35, -0.55, 0.76));
  float light = 0.43 + 0.33 * max(dot(u, key), 0.0) + 0.12 * u.z + 0.13 * max(dot(u, toward), 0.0);
  vec3 base = mix(c.rgb, tint.rgb, tint.a);
  float shine = pow(max(dot(normalize(key + toward), u), 0.0), 40.0) * 0.16;
  gl_FragColor = vec4((base * light + shine) * c.a, c.a);
}`;

function makeView(canvas) {
  const gl = canvas.getContext("webgl", { antialias: true, alpha: true, stencil: true, preserveDrawingBuffer: true });
  if (!gl) return null;
  const program = linked(gl);
  const place = Object.fromEntries(
    ["camera", "model", "tint", "flat_", "toward", "flatten", "ground"].map((n) => [n, gl.getUniformLocation(program, n)]),
  );
  const bodies = bodiesOf(gl);
  const ball = bufferOf(gl, [[...SOLIDS.ellipsoid([1, 1, 1], 20), [0.1, 0.1, 0.1, 1], null]]);
  let extent = measured(bodies, posesOf(ROBOT.start));
  const fixed = measured(bodies.filter((body) => body.link < 0), []);
  const ground = ROBOT.floats ? extent.low[2] : Math.min(0, fixed.low[2]);
  const grid = gridOf(gl, extent, ground);
  const axes = axesOf(gl, 0.09 * ROBOT.size);
  const view = {
    poses: [],
    tint: () => null,
    show: { masses: false, axes: false },
    eye: { ...START, distance: 1, target: [0, 0, 0] },
    lost: false,
  };
  const picking = pickingOf(gl);

  view.home = () => {
    extent = measured(bodies, view.poses.length ? view.poses : posesOf(ROBOT.start));
    const middle = extent.low.map((x, k) => (x + extent.high[k]) / 2);
    const reach = Math.max(Math.hypot(...extent.high.map((x, k) => x - extent.low[k])) / 2, 1e-3);
    const narrow = Math.min(1, canvas.clientWidth / Math.max(canvas.clientHeight, 1));
    view.eye = { ...START, distance: (0.98 * reach) / Math.tan(FIELD / 2) / narrow, target: middle };
    view.draw();
  };

  function camera() {
    const { yaw, pitch, distance, target } = view.eye;
    const back = [Math.cos(pitch) * Math.cos(yaw), Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch)];
    const right = [-Math.sin(yaw), Math.cos(yaw), 0];
    const up = cross(back, right);
    const at = target.map((x, k) => x + distance * back[k]);
    const f = 1 / Math.tan(FIELD / 2);
    const wide = canvas.width / Math.max(canvas.height, 1);
    const [near, far] = [distance / 60, distance * 40];
    const [a, b] = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const rows = [right.map((x) => (x * f) / wide), up.map((x) => x * f), back.map((x) => x * a), back.map((x) => -x)];
    const last = [-dot(rows[0], at), -dot(rows[1], at), -a * dot(back, at) + b, dot(back, at)];
    const m = new Float32Array(16);
    for (let c = 0; c < 3; ++c) for (let r = 0; r < 4; ++r) m[4 * c + r] = rows[r][c];
    for (let r = 0; r < 4; ++r) m[12 + r] = last[r];
    return { matrix: m, back, right, up };
  }

  function begin() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const size = [canvas.clientWidth, canvas.clientHeight].map((x) => Math.max(1, Math.round(x * ratio)));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.useProgram(program);
    const { matrix, back } = camera();
    gl.uniformMatrix4fv(place.camera, false, matrix);
    gl.uniform3fv(place.toward, back);
    gl.uniform1f(place.ground, ground);
    gl.uniform1f(place.flatten, 0);
    gl.uniform4f(place.tint, 0, 0, 0, 0);
  }

  function put(buffer, T, flat = null, mode = gl.TRIANGLES) {
    gl.uniformMatrix4fv(place.model, false, matrixOf(T));
    gl.uniform4fv(place.flat_, flat ?? [0, 0, 0, 0]);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer.data);
    ["place", "normal", "colour"].forEach((name, k) => {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, k < 2 ? 3 : 4, k < 2 ? gl.FLOAT : gl.UNSIGNED_BYTE, k === 2, 28, 12 * k);
    });
    gl.drawArrays(mode, 0, buffer.count);
  }

  /** The robot flattened onto the ground, each pixel darkened once. */
  function shadow(strength) {
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.uniform1f(place.flatten, 1);
    for (const body of bodies) if (body.solid.count) put(body.solid, poseOf(body.link), [0, 0, 0, strength]);
    gl.uniform1f(place.flatten, 0);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.DEPTH_TEST);
  }

  const poseOf = (link) => (link < 0 ? IDENTITY : view.poses[link]);

  view.draw = () => {
    if (view.lost || !canvas.clientWidth) return;
    begin();
    const ink = getComputedStyle(canvas).getPropertyValue("--grid-ink").trim() === "light" ? 1 : 0;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    put(grid, IDENTITY, [ink, ink, ink, 0.16], gl.LINES);
    gl.depthMask(true);
    if (!ROBOT.floats) shadow(ink ? 0.4 : 0.12);
    const painted = (kind) => {
      for (const body of bodies) {
        if (!body[kind].count) continue;
        gl.uniform4fv(place.tint, view.tint(body.link) ?? [0, 0, 0, 0]);
        put(body[kind], poseOf(body.link));
      }
      gl.uniform4f(place.tint, 0, 0, 0, 0);
    };
    painted("solid");
    gl.depthMask(false);
    painted("clear");
    gl.depthMask(true);
    if (view.show.masses || view.show.axes) gl.clear(gl.DEPTH_BUFFER_BIT);
    if (view.show.axes) view.poses.forEach((T) => put(axes, T, null, gl.LINES));
    if (view.show.masses) view.poses.forEach((T, k) => ROBOT.masses[k] > 0 && put(ball, marked(T, k), [0.8, 0.2, 0.5, 1]));
  };

  function marked(T, k) {
    const r = 0.018 * ROBOT.size * Math.cbrt(ROBOT.masses[k] / (Math.max(...ROBOT.masses) || 1)) + 0.004 * ROBOT.size;
    const [x, y, z] = moved(T, ROBOT.centres[k]);
    return [r, 0, 0, x, 0, r, 0, y, 0, 0, r, z];
  }

  /** The link at a place of the canvas in CSS pixels; null where there is none. */
  view.pick = (x, y) => {
    if (view.lost) return null;
    picking.bind(canvas);
    begin();
    gl.disable(gl.BLEND);
    for (const body of bodies) {
      const id = body.link + 2;
      const flat = [(id & 255) / 255, (id >> 8) / 255, 0, 1];
      for (const kind of ["solid", "clear"]) if (body[kind].count) put(body[kind], poseOf(body.link), flat);
    }
    const ratio = canvas.width / canvas.clientWidth;
    const pixel = new Uint8Array(4);
    gl.readPixels(Math.floor(x * ratio), canvas.height - 1 - Math.floor(y * ratio), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return pixel[3] === 0 ? null : pixel[0] + 256 * pixel[1] - 2;
  };

  canvas.addEventListener("webglcontextlost", () => (view.lost = true));
  orbits(canvas, view, camera);
  return view;
}

/** Mouse, fingers and keys move the camera. */
function orbits(canvas, view, camera) {
  const held = new Map();
  const turn = (dx, dy) => {
    view.eye.yaw -= dx * 0.008;
    view.eye.pitch = Math.min(1.55, Math.max(-1.55, view.eye.pitch + dy * 0.008));
  };
  const zoom = (factor) => (view.eye.distance = Math.min(50, Math.max(0.05, factor * (view.eye.distance / ROBOT.size))) * ROBOT.size);
  const pan = (dx, dy) => {
    const { right, up } = camera();
    const k = (2 * view.eye.distance * Math.tan(FIELD / 2)) / Math.max(canvas.clientHeight, 1);
    view.eye.target = view.eye.target.map((x, i) => x - k * (dx * right[i] - dy * up[i]));
  };
  canvas.addEventListener("pointerdown", (e) => {
    held.set(e.pointerId, e);
    canvas.setPointerCapture(e.pointerId);
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (e) => held.delete(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    const before = held.get(e.pointerId);
    if (!before) return;
    const [dx, dy] = [e.clientX - before.clientX, e.clientY - before.clientY];
    const other = [...held.values()].find((p) => p.pointerId !== e.pointerId);
    if (other) {
      const span = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY) || 1;
      zoom(span(before) / span(e));
      pan(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons === 2 || e.buttons === 4) pan(dx, dy);
    else turn(dx, dy);
    held.set(e.pointerId, e);
    view.draw();
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoom(Math.exp(e.deltaY * 0.0012));
    view.draw();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => view.home());
  canvas.addEventListener("keydown", (e) => {
    const steps = { ArrowLeft: [-14, 0], ArrowRight: [14, 0], ArrowUp: [0, -14], ArrowDown: [0, 14] };
    if (steps[e.key]) (e.shiftKey ? pan : turn)(...steps[e.key].map((x) => -x));
    else if (e.key === "+" || e.key === "=") zoom(0.88);
    else if (e.key === "-") zoom(1.14);
    else if (e.key === "Home" || e.key === "0") return view.home();
    else return;
    e.preventDefault();
    view.draw();
  });
}

function linked(gl) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}

/** The shapes of each link in one buffer, those one can look through in another. */
function bodiesOf(gl) {
  const { parts } = DATA.shapes;
  const around = parts.length < 90 ? 36 : parts.length < 350 ? 18 : 10;
  const byLink = new Map();
  for (const [link, colour, pose, kind, sizes] of parts) {
    if (!byLink.has(link)) byLink.set(link, { solid: [], clear: [] });
    const made = [...SOLIDS[kind](sizes, around), colour, pose];
    byLink.get(link)[colour[3] < 0.99 ? "clear" : "solid"].push(made);
  }
  return [...byLink].map(([link, { solid, clear }]) => {
    const bounds = { low: [Infinity, Infinity, Infinity], high: [-Infinity, -Infinity, -Infinity] };
    return { link, solid: bufferOf(gl, solid, bounds), clear: bufferOf(gl, clear, bounds), bounds };
  });
}

function bufferOf(gl, pieces, bounds = null) {
  const count = pieces.reduce((sum, [corners]) => sum + corners.length / 3, 0);
  const bytes = new ArrayBuffer(28 * count);
  const [numbers, colours] = [new Float32Array(bytes), new Uint8Array(bytes)];
  let at = 0;
  for (const [corners, normals, colour, pose] of pieces) {
    const T = pose ?? IDENTITY;
    const rgba = colour.map((x) => Math.round(255 * Math.min(1, Math.max(0, x))));
    for (let k = 0; k < corners.length; k += 3, ++at) {
      const p = moved(T, [corners[k], corners[k + 1], corners[k + 2]]);
      numbers.set(p, 7 * at);
      numbers.set(rotated(T, [normals[k], normals[k + 1], normals[k + 2]]), 7 * at + 3);
      colours.set(rgba, 28 * at + 24);
      if (bounds) {
        for (let i = 0; i < 3; ++i) {
          bounds.low[i] = Math.min(bounds.low[i], p[i]);
          bounds.high[i] = Math.max(bounds.high[i], p[i]);
        }
      }
    }
  }
  const data = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, data);
  gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STATIC_DRAW);
  return { data, count };
}

/** The least box along the axes of the world around all shapes. */
function measured(bodies, poses) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  const include = (p) => p.forEach((x, k) => ([low[k], high[k]] = [Math.min(low[k], x), Math.max(high[k], x)]));
  for (const { link, bounds } of bodies) {
    const T = link < 0 ? IDENTITY : poses[link];
    for (let k = 0; k < 8; ++k) include(moved(T, [0, 1, 2].map((i) => (k & (1 << i) ? bounds.high[i] : bounds.low[i]))));
  }
  poses.forEach((T) => include(column(T, 3)));
  return Number.isFinite(low[0]) ? { low, high } : { low: [-0.5, -0.5, 0], high: [0.5, 0.5, 1] };
}

function gridOf(gl, { low, high }, ground) {
  const size = Math.max(high[0] - low[0], high[1] - low[1], 0.5 * (high[2] - low[2]), 1e-3);
  const power = 10 ** Math.floor(Math.log10(size));
  const step = [0.1, 0.2, 0.5, 1].map((k) => k * power).find((k) => size / k < 7) ?? power;
  const middle = [0, 1].map((k) => Math.round((low[k] + high[k]) / 2 / step) * step);
  const half = Math.ceil(size / step) * step;
  const corners = [];
  for (let t = -half; t <= half + step / 2; t += step) {
    corners.push(middle[0] + t, middle[1] - half, ground, middle[0] + t, middle[1] + half, ground);
    corners.push(middle[0] - half, middle[1] + t, ground, middle[0] + half, middle[1] + t, ground);
  }
  const grid = bufferOf(gl, [[corners, corners.map(() => 0), [0, 0, 0, 1], null]]);
  return { ...grid, step };
}

/** Red, green and blue for x, y and z, in tones that everybody can tell apart. */
function axesOf(gl, length) {
  const colours = [[0.84, 0.37, 0, 1], [0, 0.62, 0.45, 1], [0, 0.45, 0.7, 1]];
  return bufferOf(gl, colours.map((colour, k) => {
    const end = [0, 0, 0];
    end[k] = length;
    return [[0, 0, 0, ...end], [0, 0, 1, 0, 0, 1], colour, null];
  }));
}

function pickingOf(gl) {
  const [frame, texture, depth] = [gl.createFramebuffer(), gl.createTexture(), gl.createRenderbuffer()];
  let size = "";
  const bind = (canvas) => {
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    if (size === `${canvas.width} ${canvas.height}`) return;
    size = `${canvas.width} ${canvas.height}`;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, canvas.width, canvas.height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.bindRenderbuffer(gl.RENDERBUFFER, depth);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, canvas.width, canvas.height);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
  };
  return { bind };
}

function matrixOf(T) {
  return new Float32Array([T[0], T[4], T[8], 0, T[1], T[5], T[9], 0, T[2], T[6], T[10], 0, T[3], T[7], T[11], 1]);
}

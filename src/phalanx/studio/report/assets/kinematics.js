// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// Where links are, and what holds them against gravity; a pose is the upper three rows of its matrix.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROBOT = DATA.robot;
const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

function compose(a, b) {
  const c = new Array(12);
  for (let i = 0; i < 12; i += 4) {
    for (let j = 0; j < 4; ++j) {
      c[i + j] = a[i] * b[j] + a[i + 1] * b[j + 4] + a[i + 2] * b[j + 8] + (j === 3 ? a[i + 3] : 0);
    }
  }
  return c;
}

const rotated = (T, [x, y, z]) => [0, 4, 8].map((i) => T[i] * x + T[i + 1] * y + T[i + 2] * z);
const moved = (T, p) => rotated(T, p).map((x, k) => x + T[4 * k + 3]);
const column = (T, k) => [T[k], T[k + 4], T[k + 8]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

function turned([x, y, z], angle, [a, b, c] = [0, 0, 0]) {
  const s = Math.sin(angle);
  const k = Math.cos(angle);
  const d = 1 - k;
  return [
    k + x * x * d, x * y * d - z * s, x * z * d + y * s, a,
    y * x * d + z * s, k + y * y * d, y * z * d - x * s, b,
    z * x * d - y * s, z * y * d + x * s, k + z * z * d, c,
  ];
}

function quaternionPose([x, y, z, w], [a, b, c] = [0, 0, 0]) {
  const s = 2 / (x * x + y * y + z * z + w * w);
  return [
    1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), a,
    s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w), b,
    s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y), c,
  ];
}

/** Quaternion (x, y, z, w) of a rotation vector. */
function quaternionOf(r) {
  const angle = Math.hypot(...r);
  const s = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
  return [...r.map((x) => s * x), Math.cos(angle / 2)];
}

/** Rotation vector, at most half a turn long, of a quaternion. */
function rotationOf([x, y, z, w]) {
  const sign = w < 0 ? -1 : 1;
  const sine = Math.hypot(x, y, z);
  const k = sine > 1e-12 ? (2 * Math.atan2(sine, sign * w)) / sine : 2 / (sign * w || 1);
  return [x, y, z].map((v) => sign * k * v);
}

function multiplied([a, b, c, d], [x, y, z, w]) {
  return [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z];
}

function motion(move, q) {
  const at = move.q;
  if (move.kind === "ball") return quaternionPose(q.slice(at, at + 4));
  if (move.kind === "free") return quaternionPose(q.slice(at + 3, at + 7), q.slice(at, at + 3));
  const value = (move.times ?? 1) * q[at] + (move.plus ?? 0);
  const along = move.axis.map((x) => x * value * move.slide);
  return move.turn ? turned(move.axis, value * move.turn, along) : [1, 0, 0, along[0], 0, 1, 0, along[1], 0, 0, 1, along[2]];
}

/** The pose of every link at coordinates q; `axes` collects how each degree of freedom moves what hangs on it. */
function posesOf(q, axes = null) {
  q = Array.from(q);
  const poses = [];
  ROBOT.joints.forEach((joint, link) => {
    let T = joint.parent < 0 ? IDENTITY : poses[joint.parent];
    if (joint.before) T = compose(T, joint.before);
    for (const move of joint.moves) {
      const next = compose(T, motion(move, q));
      if (axes) {
        const times = move.times ?? 1;
        if (move.axis) {
          const a = rotated(T, move.axis);
          const turn = move.turn ? a.map((x) => x * move.turn) : null;
          const slide = move.slide ? a.map((x) => x * move.slide) : null;
          axes.push({ link, v: move.v, times, turn, slide, at: column(T, 3) });
        } else {
          for (let k = 0; k < 3; ++k) {
            axes.push({ link, v: move.v + k, times, turn: column(next, k), slide: null, at: column(next, 3) });
            if (move.kind === "free") axes.push({ link, v: move.v + 3 + k, times, turn: null, slide: column(next, k), at: null });
          }
        }
      }
      T = next;
    }
    poses.push(joint.after ? compose(T, joint.after) : T);
  });
  return poses;
}

/** Mass and first moment, in the world, of each link with all that it carries. */
function subtrees(poses) {
  const sums = poses.map((T, k) => [ROBOT.masses[k], moved(T, ROBOT.centres[k]).map((x) => x * ROBOT.masses[k])]);
  for (let k = poses.length - 1; k >= 0; --k) {
    const p = ROBOT.joints[k].parent;
    if (p >= 0) sums[p] = [sums[p][0] + sums[k][0], sums[p][1].map((x, i) => x + sums[k][1][i])];
  }
  return sums;
}

/** Joint forces that hold the robot against gravity, by virtual work. */
function gravityForces(q) {
  const axes = [];
  const sums = subtrees(posesOf(q, axes));
  const tau = new Float64Array(ROBOT.nv);
  for (const { link, v, times, turn, slide, at } of axes) {
    const [mass, moment] = sums[link];
    let rate = [0, 0, 0];
    if (turn) rate = cross(turn, moment.map((x, i) => x - mass * at[i]));
    if (slide) rate = rate.map((x, i) => x + mass * slide[i]);
    tau[v] -= times * dot(ROBOT.gravity, rate);
  }
  return tau;
}

function potentialEnergy(poses) {
  return -poses.reduce((sum, T, k) => sum + ROBOT.masses[k] * dot(ROBOT.gravity, moved(T, ROBOT.centres[k])), 0);
}

function bytesOf64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// Copyright (c) 2026 The Phalanx developers
// SPDX-License-Identifier: MIT
// Shapes as triangles: flat lists of corners and of normals, three numbers each.

const CREASE = Math.cos((40 * Math.PI) / 180); // neighbouring faces that differ more keep their edge

/** What a profile of points [radius, height, normal out, normal up] sweeps out around the z axis. */
function revolved(profile, around) {
  const corners = [];
  const normals = [];
  const put = ([r, z, out, up], k) => {
    const a = (2 * Math.PI * k) / around;
    corners.push(r * Math.cos(a), r * Math.sin(a), z);
    normals.push(out * Math.cos(a), out * Math.sin(a), up);
  };
  for (let i = 0; i + 1 < profile.length; ++i) {
    const [low, high] = [profile[i], profile[i + 1]];
    for (let k = 0; k < around; ++k) {
      if (low[0] > 0) [[low, k], [low, k + 1], [high, k]].forEach(([p, a]) => put(p, a));
      if (high[0] > 0) [[low, k + 1], [high, k + 1], [high, k]].forEach(([p, a]) => put(p, a));
    }
  }
  return [corners, normals];
}

function halfCircle(radius, shift, around) {
  const rings = Math.max(3, Math.round(around / 4));
  const points = [];
  for (let k = -rings; k <= rings; ++k) {
    const a = (k / rings) * (Math.PI / 2);
    const r = Math.abs(k) === rings ? 0 : Math.cos(a);
    points.push([radius * r, radius * Math.sin(a) + Math.sign(k || -1) * shift, r, Math.sin(a)]);
    if (k === 0 && shift > 0) points.push([radius, shift, 1, 0]);
  }
  return points;
}

const SOLIDS = {
  box([x, y, z]) {
    const corners = [];
    const normals = [];
    for (let axis = 0; axis < 3; ++axis) {
      for (const side of [-1, 1]) {
        const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        for (const [a, b] of [[-1, -1], [side, -side], [1, 1], [-1, -1], [1, 1], [-side, side]]) {
          const p = [0, 0, 0];
          const n = [0, 0, 0];
          [p[axis], p[u], p[v]] = [side, a, b];
          n[axis] = side;
          corners.push(p[0] * x, p[1] * y, p[2] * z);
          normals.push(...n);
        }
      }
    }
    return [corners, normals];
  },
  cylinder([r, half], around) {
    const low = [[0, -half, 0, -1], [r, -half, 0, -1]];
    const side = [[r, -half, 1, 0], [r, half, 1, 0]];
    const top = [[r, half, 0, 1], [0, half, 0, 1]];
    return [low, side, top].map((p) => revolved(p, around)).reduce(([a, b], [c, d]) => [a.concat(c), b.concat(d)]);
  },
  capsule: ([r, half], around) => revolved(halfCircle(r, half, around), around),
  ellipsoid(radii, around) {
    const [corners, normals] = revolved(halfCircle(1, 0, around), around);
    for (let k = 0; k < normals.length; k += 3) {
      const n = [0, 1, 2].map((i) => normals[k + i] / radii[i]);
      const length = Math.hypot(...n) || 1;
      for (let i = 0; i < 3; ++i) normals[k + i] = n[i] / length;
    }
    return [corners.map((x, k) => x * radii[k % 3]), normals];
  },
  mesh(index) {
    const { low, step, vertices, faces, wide } = DATA.shapes.meshes[index];
    const numbers = new Uint16Array(bytesOf64(vertices).buffer);
    const points = Array.from(numbers, (x, k) => low[k % 3] + step[k % 3] * x);
    const bytes = bytesOf64(faces).buffer;
    return smoothed(points, wide ? new Uint32Array(bytes) : new Uint16Array(bytes));
  },
};

/** Faces with the normals of their vertices, averaged where the surface has no edge. */
function smoothed(points, faces) {
  const count = faces.length / 3;
  const flat = new Float32Array(faces.length);
  const same = new Map();
  const beside = [];
  const name = new Uint32Array(points.length / 3);
  for (let k = 0; k < name.length; ++k) {
    const key = `${points[3 * k]},${points[3 * k + 1]},${points[3 * k + 2]}`;
    if (!same.has(key)) same.set(key, beside.push([]) - 1);
    name[k] = same.get(key);
  }
  const at = (k) => [points[3 * k], points[3 * k + 1], points[3 * k + 2]];
  for (let f = 0; f < count; ++f) {
    const [a, b, c] = [0, 1, 2].map((i) => at(faces[3 * f + i]));
    const n = cross(b.map((x, i) => x - a[i]), c.map((x, i) => x - a[i]));
    flat.set(n, 3 * f); // as long as the face is large, so that large ones count more
    for (let i = 0; i < 3; ++i) beside[name[faces[3 * f + i]]].push(f);
  }
  const corners = new Float32Array(3 * faces.length);
  const normals = new Float32Array(3 * faces.length);
  const normal = (f) => [flat[3 * f], flat[3 * f + 1], flat[3 * f + 2]];
  for (let f = 0; f < count; ++f) {
    const own = normal(f);
    const size = Math.hypot(...own) || 1;
    for (let i = 0; i < 3; ++i) {
      const corner = faces[3 * f + i];
      const sum = [0, 0, 0];
      for (const g of beside[name[corner]]) {
        const other = normal(g);
        if (dot(own, other) >= CREASE * size * Math.hypot(...other)) other.forEach((x, j) => (sum[j] += x));
      }
      const length = Math.hypot(...sum) || 1;
      corners.set(at(corner), 9 * f + 3 * i);
      normals.set(sum.map((x) => x / length), 9 * f + 3 * i);
    }
  }
  return [corners, normals];
}

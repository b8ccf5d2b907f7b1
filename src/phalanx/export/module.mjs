// $about
//
//   import { load } from "./$stem.mjs";
//   const arm = await load();                       // reads $stem.wasm beside this file; or load(bytes)
//   const $example_result = arm.$example($example_inputs);   // one state, or rows of states one after another
//
// Numbers go in as $array (other arrays of numbers are converted) and come out as new ones, or into those of
// the last argument. A function with several results returns them by name. Units are SI.

/** Names, sizes and limits of the robot, and what each function takes and gives. No limit is null. */
export const info = $info;

const NUMBERS = $array;
const SIZE = NUMBERS.BYTES_PER_ELEMENT;
const PREFIX = "$prefix_";
const MOST = 1 << 22; // bytes of rows that are copied at once
const ALIGNED = 16;

/**
 * The robot's functions, from the file beside this one, or from what is given: bytes, an address, a response
 * or a compiled WebAssembly.Module.
 */
export async function load(source = new URL("./$stem.wasm", import.meta.url)) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await bytesOf(source));
  const [version] = WebAssembly.Module.customSections(module, "phalanx").map((data) => new TextDecoder().decode(data));
  if (version !== info.version) {
    throw new Error(`$stem.mjs: the module has version ${version}, expected ${info.version}; export both files again.`);
  }
  return new Robot(await WebAssembly.instantiate(module));
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof Response !== "undefined" && source instanceof Response) return source.arrayBuffer();
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:" && typeof process !== "undefined" && process.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`$stem.mjs: ${url} answered ${answer.status} ${answer.statusText}.`);
  return answer.arrayBuffer();
}

class Robot {
  #exports;
  #free;
  #plans = {};

  constructor(instance) {
    this.#exports = instance.exports;
    this.#free = this.#exports.__heap_base.value;
    for (const [name, f] of Object.entries(info.functions)) {
      const plan = planned(name, f, this.#exports);
      this.#plans[name] = plan;
      this[name] = (...args) => this.#call(plan, args);
    }
  }

  /** Names, sizes and limits. */
  get info() {
    return info;
  }

  /**
   * Rows of states inside the module's memory, for a function that runs on the same memory again and again:
   * fill the inputs, `run()`, read the outputs. They stay as long as the robot.
   */
  rows(name, count = 1) {
    const plan = Object.hasOwn(this.#plans, name) ? this.#plans[name] : undefined;
    if (!plan) throw new RangeError(`rows: unknown function "${name}"; known: ${Object.keys(this.#plans).join(", ")}.`);
    if (!Number.isInteger(count) || count < 0) throw new RangeError(`rows: count is ${count}, expected 0, 1, 2, …`);
    const [places, end] = this.#places(plan, count);
    this.#free = end;
    const memory = this.#exports.memory;
    const made = { count, run: () => run(plan, count, places) };
    [...plan.inputs, ...plan.outputs].forEach(([each, n], k) => {
      // A view is lost when memory grows: look at what is there now.
      const get = () => new NUMBERS(memory.buffer, places[k], count * n);
      Object.defineProperty(made, each, { enumerable: true, get });
    });
    return made;
  }

  #call(plan, args) {
    const { name, inputs, outputs } = plan;
    if (args.length < inputs.length || args.length > inputs.length + 1) {
      throw new TypeError(`${name}: got ${args.length} arguments, expected ${inputs.map(([n]) => n).join(", ")}.`);
    }
    const count = counted(plan, args);
    const results = outputs.map(([each, n]) => placed(plan, each, n * count, args[inputs.length]));
    const most = Math.max(1, Math.floor(MOST / plan.row));
    for (let start = 0; start < count; start += most) {
      const some = Math.min(most, count - start);
      const [places] = this.#places(plan, some);
      const buffer = this.#exports.memory.buffer;
      inputs.forEach(([, n], k) => {
        const part = some === count ? args[k] : args[k].slice(start * n, (start + some) * n);
        new NUMBERS(buffer, places[k], some * n).set(part);
      });
      run(plan, some, places);
      outputs.forEach(([, n], k) => {
        results[k].set(new NUMBERS(buffer, places[inputs.length + k], some * n), start * n);
      });
    }
    if (outputs.length === 1) return results[0];
    return Object.fromEntries(outputs.map(([each], k) => [each, results[k]]));
  }

  /** Where inputs, outputs and workspace of so many states lie, and the first address behind. */
  #places(plan, count) {
    let at = this.#free;
    const places = [];
    const add = (numbers) => {
      places.push(at);
      at += Math.ceil((numbers * SIZE) / ALIGNED) * ALIGNED;
    };
    for (const [, n] of plan.inputs) add(count * n);
    for (const [, n] of plan.outputs) add(count * n);
    if (plan.workspace) add(plan.workspace);
    const missing = at - this.#exports.memory.buffer.byteLength;
    if (missing > 0) this.#exports.memory.grow(Math.ceil(missing / 65536));
    return [places, at];
  }
}

/** A function with the numbers of a state in its inputs and outputs. */
function planned(name, f, exports) {
  const numbers = (shapes) => Object.entries(shapes).map(([each, shape]) => [each, shape.reduce((a, b) => a * b, 1)]);
  const inputs = numbers(f.inputs);
  const outputs = numbers(f.outputs);
  const row = [...inputs, ...outputs].reduce((sum, [, n]) => sum + n * SIZE, 0) || 1;
  const alone = exports[PREFIX + name];
  const batch = exports[`${PREFIX}${name}_batch`];
  return { name, inputs, outputs, row, alone, batch, workspace: f.workspace };
}

function run(plan, count, places) {
  if (count === 1) plan.alone(...places);
  else plan.batch(count, ...places);
}

/** The number of states, from the lengths of the inputs. */
function counted({ name, inputs }, args) {
  let count;
  for (let k = 0; k < inputs.length; ++k) {
    const [each, n] = inputs[k];
    const x = args[k];
    const numbers = Array.isArray(x) || (ArrayBuffer.isView(x) && typeof x.length === "number");
    if (!numbers) throw new TypeError(`${name}: ${each} is ${described(x)}, expected ${NUMBERS.name}.`);
    const rows = n ? x.length / n : (count ?? 1);
    if (!Number.isInteger(rows) || (n === 0 && x.length)) {
      throw new RangeError(`${name}: ${each} has ${x.length} numbers, expected ${n} for each state.`);
    }
    if (count !== undefined && rows !== count) {
      throw new RangeError(`${name}: ${each} has ${rows} states of ${n} numbers, ${inputs[0][0]} has ${count}.`);
    }
    count = rows;
  }
  return count ?? 1;
}

/** Where a result goes: a new array, or what was given for it. */
function placed({ name, outputs }, each, length, given) {
  const out = given?.[each] ?? (outputs.length === 1 ? given : undefined);
  if (out === undefined) return new NUMBERS(length);
  if (!(out instanceof NUMBERS) || out.length !== length) {
    throw new TypeError(`${name}: the array for ${each} is ${described(out)}, expected ${NUMBERS.name} of ${length} numbers.`);
  }
  return out;
}

function described(x) {
  if (x === null || x === undefined) return String(x);
  const kind = x.constructor?.name ?? typeof x;
  return typeof x.length === "number" ? `${kind} of ${x.length} numbers` : kind;
}

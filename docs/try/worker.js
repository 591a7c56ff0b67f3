// mpslint under Pyodide, beside the page so that typing never waits for it. Everything is fetched from the page's own folder.
import createModule from "./pyodide/pyodide.asm.mjs";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const fetched = (name) => fetch(new URL(name, import.meta.url)).then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(`${name}: ${answer.status}`))));
const indexURL = new URL("pyodide/", import.meta.url).href;
const archive = fetched("mpslint.zip");
const memory = fetched("mpslint.snapshot").then(unpacked);

/** What a compressed file holds; a server may have unpacked it already. */
function unpacked(buffer) {
  const [first, second] = new Uint8Array(buffer);
  return first === 0x1f && second === 0x8b ? new Response(new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer() : buffer;
}

/** A Python whose memory is large enough for what is copied over it, which Pyodide doesn't see to. */
function grown(module, bytes) {
  while (module.HEAP8.length < bytes) module._malloc(1 << 20);
  return module;
}

/** Python with mpslint imported: from the memory of one that was, which takes a tenth of the time, else from the beginning. */
async function start() {
  try {
    const createPyodideModule = async (settings) => grown(await createModule(settings), (await memory).byteLength);
    const python = await loadPyodide({ indexURL, _loadSnapshot: memory, createPyodideModule });
    python.unpackArchive(await archive, "zip", { extractDir: "/lib/mpslint" }); // modules that are imported late
    python.runPython("import importlib; importlib.invalidate_caches()");
    return { python, answer: python.globals.get("answer") };
  } catch (error) {
    console.error(`mpslint starts without its snapshot: ${error.message ?? error}`);
  }
  const python = await loadPyodide({ indexURL });
  python.unpackArchive(await archive, "zip", { extractDir: "/lib/mpslint" });
  python.runPython("import sys; sys.path.insert(0, '/lib/mpslint')");
  python.runPython(new TextDecoder().decode(await fetched("check.py")), { filename: "check.py" });
  return { python, answer: python.globals.get("answer") };
}

const started = start();
started.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ ready: false, problem: String(error.message ?? error).trim().split("\n").pop() }),
);

onmessage = async ({ data: { id, name, bytes, target, unsafe } }) => {
  const { python, answer } = await started;
  const begin = performance.now();
  const given = [python.toPy(bytes), python.toPy(target)];
  try {
    const text = answer.callKwargs(name, given[0], given[1], unsafe, {});
    postMessage({ id, answer: JSON.parse(text), milliseconds: performance.now() - begin });
  } catch (error) {
    postMessage({ id, answer: { problem: String(error.message).trim().split("\n").pop(), about: "file" } });
  } finally {
    given.forEach((one) => one.destroy());
  }
};

// mpslint under Pyodide, beside the page so that typing never waits for it. Everything is fetched from the page's own folder.
import { loadPyodide } from "./pyodide/pyodide.mjs";

// what loads all that a check needs, while nobody waits
const WARM_UP = ["train.py", "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n", {}, false];
let isAsked = false;
const fetched = Promise.all(["mpslint.zip", "check.py"].map(async (name) => (await fetch(new URL(name, import.meta.url))).arrayBuffer()));

async function start() {
  const python = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  const [archive, glue] = await fetched;
  python.unpackArchive(archive, "zip", { extractDir: "/lib/mpslint" });
  python.runPython("import sys; sys.path.insert(0, '/lib/mpslint')");
  const names = python.globals.get("dict")();
  python.runPython(new TextDecoder().decode(glue), { globals: names, filename: "check.py" });
  const answer = names.get("answer");
  setTimeout(() => isAsked || answer(...WARM_UP.map((one) => python.toPy(one))));
  return { python, answer };
}

const started = start();
started.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ ready: false, problem: String(error.message ?? error).trim().split("\n").pop() }),
);

onmessage = async ({ data: { id, name, bytes, target, unsafe } }) => {
  isAsked = true;
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

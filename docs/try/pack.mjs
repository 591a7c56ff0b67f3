// node pack.mjs FOLDER FILE.zip CHECK.py FILE.snapshot SAMPLE...: a folder of Python modules, compiled by the Python that the page runs,
// as one archive; and the memory of a Python that has imported them and checked the samples, so that the page need not begin at zero.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { loadPyodide } from "pyodide";

const [folder, output, glue, memory, ...samples] = process.argv.slice(2);
const python = await loadPyodide();
const copy = (from, to) => {
  python.FS.mkdirTree(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const inner = [path.join(from, entry.name), `${to}/${entry.name}`];
    if (entry.isDirectory()) copy(...inner);
    else python.FS.writeFile(inner[1], new Uint8Array(fs.readFileSync(inner[0])));
  }
};
copy(folder, "/pack");
python.runPython(`
import compileall, pathlib, shutil
assert compileall.compile_dir("/pack", quiet=1, legacy=True, stripdir="/pack", invalidation_mode=__import__("py_compile").PycInvalidationMode.UNCHECKED_HASH)
for source in pathlib.Path("/pack").rglob("*.py"):
    source.unlink()
shutil.make_archive("/packed", "zip", "/pack")
`);
fs.writeFileSync(output, python.FS.readFile("/packed.zip"));

const warm = await loadPyodide({ _makeSnapshot: true });
const read = (file) => new Uint8Array(fs.readFileSync(file)); // Pyodide takes no Buffer
warm.unpackArchive(read(output), "zip", { extractDir: "/lib/mpslint" });
warm.runPython("import sys; sys.path.insert(0, '/lib/mpslint')");
warm.runPython(fs.readFileSync(glue, "utf8"), { filename: "check.py" });
for (const sample of samples) {
  const given = [warm.toPy(read(sample)), warm.toPy({})];
  const answer = warm.globals.get("answer");
  answer(path.basename(sample), ...given, false);
  [...given, answer].forEach((one) => one.destroy());
}
warm.runPython("import gc; gc.collect()");
fs.writeFileSync(memory, zlib.gzipSync(warm.makeMemorySnapshot(), { level: 9 }));

// node pack.mjs FOLDER FILE.zip: a folder of Python modules, compiled by the Python that the page runs, as one archive.
import fs from "node:fs";
import path from "node:path";
import { loadPyodide } from "pyodide";

const [folder, output] = process.argv.slice(2);
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

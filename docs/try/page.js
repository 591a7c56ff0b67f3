// The page: takes a file and a Target, asks the worker, shows the answer in place. No file leaves the tab.
const $ = (id) => document.getElementById(id);
const CONTEXT = 3; // lines shown around a finding
const PAUSE = 150; // milliseconds without a key before what is typed is checked
const worker = new Worker("worker.js", { type: "module" });
let opened = null; // {name, bytes} of a file; null for the text of the box
let asked = 0;
let last = null;
let waiting = null;

worker.onmessage = ({ data }) => {
  if ("ready" in data) {
    if (!data.ready) return fail(data.problem);
    $("status").textContent = "Ready.";
    keep();
  } else if (data.id === asked) {
    show(data);
    busy(waiting !== null);
  }
};
worker.onerror = (event) => fail(event.message ?? "the browser refused a module worker");

function fail(problem) {
  $("status").textContent = `Python couldn't start: ${problem}`;
  asked = -1;
  busy(false);
}

/** Say, to a screen reader too, whether what is shown is yet to be replaced. */
const busy = (is) => $("results").setAttribute("aria-busy", is);

/** The file to check: what was opened, else the text, which is a notebook if it is JSON with cells. */
function current() {
  if (opened) return opened;
  const text = $("source").value;
  const isNotebook = /^\s*\{/.test(text) && text.includes('"cells"');
  return text.trim() ? { name: isNotebook ? "notebook.ipynb" : "train.py", bytes: new TextEncoder().encode(text) } : null;
}

function target() {
  const form = new FormData($("target"));
  const given = Object.fromEntries([...form].filter(([key, value]) => key !== "others" && value.trim()));
  for (const one of form.get("others").split(",")) {
    const [name, version] = one.trim().split(/\s*(?:==|=|\s)\s*/);
    if (name) given[name.toLowerCase()] = version ?? "";
  }
  return given;
}

function ask() {
  const file = current();
  if (asked < 0) return;
  asked += 1;
  busy(Boolean(file));
  if (!file) return void ($("results").hidden = true);
  if (!$("status").textContent.startsWith("Loading")) $("status").textContent = "Checking.";
  worker.postMessage({ id: asked, ...file, target: target(), unsafe: $("unsafe").checked });
}

function later() {
  clearTimeout(waiting);
  busy(asked >= 0);
  waiting = setTimeout(() => {
    waiting = null;
    ask();
  }, PAUSE);
}

function open(name, bytes) {
  const isScript = /\.(py|sh|ya?ml)$/i.test(name);
  opened = { name, bytes };
  $("name").textContent = `${name}, ${Math.ceil(bytes.length / 1024)} KB`;
  $("close").hidden = false;
  $("source").hidden = !isScript;
  if (isScript) $("source").value = new TextDecoder().decode(bytes);
  ask();
}

function close() {
  opened = null;
  $("name").textContent = "";
  $("close").hidden = true;
  $("source").hidden = false;
  $("source").value = "";
  ask();
}

const element = (tag, className, text, ...children) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.append(text);
  made.append(...children);
  return made;
};

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function show({ answer, milliseconds }) {
  last = answer;
  $("results").hidden = Boolean(answer.problem);
  if (answer.problem) return void ($("status").textContent = answer.problem);
  $("status").textContent = `Checked in ${(milliseconds / 1000).toFixed(2)} s.`;
  const { findings } = answer.file;
  const kinds = ["error", "warning", "note"].map((kind) => [findings.filter((one) => one.severity === kind).length, kind]);
  $("summary").textContent = kinds.filter(([number]) => number).map(([number, kind]) => count(number, kind)).join(", ") || "Nothing found.";
  $("for").textContent = answer.target ? `For ${answer.target}` : "";
  drawParts();
  drawFix(answer.fixed);
}

function drawParts() {
  const { file, parts } = last;
  const all = $("whole").checked;
  const drawn = parts.map((part) => {
    const inside = (one) => (one.place.cell ?? null) === part.cell;
    return drawPart(part, file.findings.filter(inside), file.unread.filter(inside), all);
  });
  $("findings").replaceChildren(...drawn.filter(Boolean));
}

function drawPart(part, findings, unread, all) {
  if (!all && !findings.length && !unread.length) return null;
  const text = part.text.split(/\r\n|\r|\n/);
  const at = (line) => [...findings, ...unread].filter((one) => one.place.line === line);
  const near = (line) => [...findings, ...unread].some((one) => Math.abs(one.place.line - line) <= CONTEXT);
  const lines = element("div", "lines");
  let skipped = false;
  text.forEach((source, index) => {
    const number = index + 1;
    if (!all && !near(number)) {
      skipped = true;
      return;
    }
    if (skipped) lines.append(element("span", "gap", "⋯"));
    skipped = false;
    lines.append(drawLine(number, source, at(number).filter((one) => one.rule)), ...at(number).map((one) => (one.rule ? drawFinding(one) : drawUnread(one))));
  });
  if (skipped) lines.append(element("span", "gap", "⋯"));
  const ran = part.count ? `, [${part.count}]` : "";
  const heading = part.cell ? [element("h3", "", `cell ${part.cell}${ran}`)] : [];
  return element("div", "part", "", ...heading, lines);
}

function drawLine(number, source, findings) {
  const made = element("span", "line");
  made.dataset.number = number;
  const characters = [...source]; // columns count characters, JavaScript's offsets halves of them
  const ends = findings.map(({ place, end }) => [place.column - 1, end.line === place.line ? end.column - 1 : characters.length]);
  let position = 0;
  for (const [start, end] of ends.sort((a, b) => a[0] - b[0])) {
    if (start < position) continue;
    made.append(characters.slice(position, start).join(""), element("mark", "", characters.slice(start, end).join("")));
    position = end;
  }
  made.append(characters.slice(position).join(""));
  return made;
}

function drawFinding(one) {
  const rule = element("a", "", `${one.rule} ${one.name}`);
  rule.href = one.url;
  rule.target = "_blank";
  rule.rel = "noopener";
  const made = element("div", `finding ${one.severity}`, "", element("b", "", one.severity), rule, element("p", "", one.message));
  Object.assign(made.dataset, { rule: one.rule, line: one.place.line, column: one.place.column, cell: one.place.cell ?? "" });
  for (const { message, place } of one.related) {
    made.append(element("p", "related", `${message} (${place.cell ? `cell ${place.cell}, ` : ""}line ${place.line})`));
  }
  if (one.why) made.append(element("p", "why", one.why));
  if (one.fix) {
    const how = one.fix.safety === "manual" ? "By hand" : `Fix (${one.fix.safety}${one.fix.reason ? `: ${one.fix.reason}` : ""})`;
    made.append(element("p", "", `${how}: ${one.fix.summary}`));
  }
  return made;
}

const drawUnread = (one) => element("div", "finding note", "", element("b", "", "not read"), element("p", "", one.reason));

function drawFix(fixed) {
  const isChanged = Boolean(fixed?.applied);
  $("fix").hidden = !fixed;
  if (!fixed) return;
  const held = fixed.held ? ` ${count(fixed.held, "fix").replace("fixs", "fixes")} would change the run.` : "";
  $("fixed").textContent = isChanged ? `${count(fixed.applied, "finding")} fixed.${held}` : `Nothing can be fixed safely.${held}`;
  $("download").hidden = $("copy").hidden = !isChanged;
  const diffs = fixed.diffs.map(({ title, lines }) => {
    const kind = (line) => ({ "+": "added", "-": "removed" })[line[0]] ?? "same";
    return element("div", "part", "", element("h3", "", title), element("div", "lines", "", ...lines.map((line) => element("span", kind(line), line || " "))));
  });
  $("diff").replaceChildren(...diffs);
  if (!isChanged) return;
  URL.revokeObjectURL($("download").href);
  const bytes = Uint8Array.from(fixed.data, (character) => character.charCodeAt(0));
  $("download").href = URL.createObjectURL(new Blob([bytes]));
  $("download").download = current()?.name ?? "train.py";
  $("copy").onclick = () => navigator.clipboard.writeText(new TextDecoder().decode(bytes));
}

async function read(file) {
  clearTimeout(waiting);
  waiting = null;
  if (asked >= 0) asked += 1; // an answer about what was open before comes too late
  busy(asked >= 0);
  open(file.name, new Uint8Array(await file.arrayBuffer()));
}
$("open").onchange = (event) => event.target.files[0] && read(event.target.files[0]).then(() => (event.target.value = ""));
$("close").onclick = close;
$("source").oninput = () => {
  if (opened) opened = { name: opened.name, bytes: new TextEncoder().encode($("source").value) };
  later();
};
$("target").oninput = later;
$("target").onsubmit = (event) => event.preventDefault();
$("unsafe").onchange = ask;
$("whole").onchange = () => last && drawParts();
for (const button of document.querySelectorAll("[data-sample]")) {
  const name = button.dataset.sample;
  button.onclick = async () => open(name, new Uint8Array(await (await fetch(`samples/${name}`)).arrayBuffer()));
}
document.ondragover = (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
};
document.ondragleave = (event) => event.relatedTarget || document.body.classList.remove("dragging");
document.ondrop = (event) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
};

/** Keep the page for use without a network: once Python runs, so that the second download doesn't delay the first. */
function keep() {
  if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js").catch(() => {}); // only offline use needs it
}

// node page.mjs URL CHROMIUM FILES.json OUTPUT: opens the page, gives it each file, and writes what it shows, with times and requests.
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [url, executablePath, listed, output] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, acceptDownloads: true });
const page = await context.newPage();
const requests = [];
const messages = [];
context.on("request", (request) => requests.push(`${request.method()} ${request.url()}`));
page.on("console", (message) => message.type() === "error" && messages.push(message.text()));
page.on("pageerror", (error) => messages.push(String(error)));

const answered = () => page.waitForSelector('#results[aria-busy="false"]', { state: "attached", timeout: 60000 });
async function shown(action) {
  const begin = performance.now();
  await action();
  await answered();
  const milliseconds = performance.now() - begin;
  const findings = await page.$$eval(".finding[data-rule]", (all) => all.map(({ dataset: d }) => [d.rule, d.cell ? Number(d.cell) : null, Number(d.line), Number(d.column)]));
  let fixed = null;
  if (await page.isVisible("#download")) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
    fixed = fs.readFileSync(await download.path()).toString("base64");
  }
  return { milliseconds, findings, fixed, status: await page.textContent("#status"), summary: await page.textContent("#summary") };
}

const begin = performance.now();
await page.goto(url);
const files = JSON.parse(fs.readFileSync(listed, "utf8"));
const results = [];
for (const { file, target = {}, unsafe = false, picture } of files) {
  await page.selectOption("[name=memory]", target.memory ?? "");
  await page.selectOption("[name=chip]", target.chip ?? "");
  await page.fill("[name=torch]", target.torch ?? "");
  await page.setChecked("#unsafe", unsafe);
  if (results.length) await answered(); // of the file before, for this Target
  const result = await shown(() => page.setInputFiles("#open", file));
  if (!results.length) result.cold = performance.now() - begin;
  if (picture) await page.screenshot({ path: path.join(output, picture), fullPage: true });
  results.push(result);
}
const after = requests.length;
await page.click("#close");
const typed = await shown(() => page.fill("#source", "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"));
const during = requests.slice(after);
await page.evaluate(() => navigator.serviceWorker.ready);
await context.setOffline(true);
await page.reload();
const offline = await shown(() => page.setInputFiles("#open", files[0].file));
fs.writeFileSync(path.join(output, "shown.json"), JSON.stringify({ results, typed, offline, requests, during, messages }));
await browser.close();

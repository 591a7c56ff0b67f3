// node lab.mjs URL CHROMIUM COUNT OUTPUT: opens a notebook in JupyterLab and writes what is underlined in it, once there is as much as COUNT.
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [url, executablePath, count, output] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 1800 } }); // so tall that every cell is drawn
await page.goto(url);
try {
  await page.waitForFunction((least) => document.querySelectorAll(".cm-lintRange").length >= least, Number(count), { timeout: 120000 });
} finally {
  const shown = await page.$$eval(".cm-lintRange", (all) => all.map((one) => [one.className.replace(/.*cm-lintRange-/, ""), one.textContent]));
  fs.writeFileSync(path.join(output, "shown.json"), JSON.stringify(shown));
  await page.screenshot({ path: path.join(output, "lab.png") });
  await browser.close();
}

// The extension in a real editor: code-server, driven with Chromium. Prints what was seen as JSON, and writes pictures.
//   node test/editor.mjs CODE_SERVER_ENTRY VSIX MPSLINT WORKSPACE PICTURES
// CHROMIUM names the browser, PLAYWRIGHT the folder of playwright-core. WORKSPACE holds bad.py and bad.ipynb.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [entry, vsix, mpslint, workspace, pictures] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT ?? "playwright-core");
const home = mkdtempSync(join(tmpdir(), "code-server-"));
const folders = ["--user-data-dir", join(home, "data"), "--extensions-dir", join(home, "extensions")];
mkdirSync(join(home, "data", "User"), { recursive: true });
mkdirSync(pictures, { recursive: true });
const settings = {
  "mpslint.path": mpslint,
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "telemetry.telemetryLevel": "off",
  "files.autoSave": "off",
};
writeFileSync(join(home, "data", "User", "settings.json"), JSON.stringify(settings));
const installed = spawnSync(process.execPath, [entry, ...folders, "--install-extension", vsix], { encoding: "utf8" });
if (installed.status !== 0) {
  throw new Error(installed.stdout + installed.stderr);
}
const port = 20000 + (process.pid % 20000);
const server = spawn(process.execPath, [entry, ...folders, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-update-check", "--disable-telemetry", workspace], { stdio: ["ignore", "pipe", "pipe"] });
const log = [];
server.stdout.on("data", (data) => log.push(String(data)));
server.stderr.on("data", (data) => log.push(String(data)));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const seen = {};
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  for (let tries = 0; ; tries++) {
    try {
      await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}`, { timeout: 60_000 });
      break;
    } catch (error) {
      if (tries > 60) throw error;
      await page.waitForTimeout(1000);
    }
  }
  await page.waitForSelector(".monaco-workbench", { timeout: 120_000 });
  const command = async (text) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("F1");
    await page.waitForSelector(".quick-input-widget input");
    await page.keyboard.type(text, { delay: 15 });
    await page.waitForTimeout(1500);
    await page.keyboard.press("Enter");
    await page.waitForTimeout(1500);
  };
  const open = async (name) => {
    await page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first().dblclick({ timeout: 60_000 });
    await page.waitForTimeout(4000);
  };
  const status = () => page.locator('.statusbar-item[id^="mpslint"]').first().innerText();
  const look = async (name) => {
    await open(name);
    await page.waitForFunction(() => /: [1-9]\d*$/.test(document.querySelector('.statusbar-item[id^="mpslint"]')?.textContent?.trim() ?? ""), undefined, { timeout: 90_000 });
    if (name.endsWith(".py")) {
      await page.waitForSelector(".codelens-decoration", { timeout: 60_000 });
    }
    await page.waitForTimeout(3000);
    seen[name] = { status: await status(), lenses: await page.locator(".codelens-decoration").allInnerTexts() };
    await page.screenshot({ path: join(pictures, `vscode-${name.split(".")[1]}.png`) });
    if (name.endsWith(".py")) {
      await page.locator(".codelens-decoration a", { hasText: "estimate memory" }).first().click();
      await page.waitForFunction(() => [...document.querySelectorAll(".codelens-decoration")].some((one) => one.textContent.includes("peak")), undefined, { timeout: 300_000 });
      seen[name].estimated = await page.locator(".codelens-decoration").allInnerTexts();
      await page.screenshot({ path: join(pictures, "vscode-estimated.png") });
      const ways = page.locator(".codelens-decoration a", { hasText: "to a shorter step" });
      if (await ways.count()) {
        await ways.first().click();
        await page.waitForTimeout(4000);
        await page.screenshot({ path: join(pictures, "vscode-advice.png") });
        seen[name].advice = (await page.locator(".editor-group-container").nth(1).innerText()).replaceAll("\u00a0", " ");
        await page.locator(".editor-group-container").first().locator(".view-lines").click();
      }
    }
    await command("mpslint: Fix All in This File");
    await page.waitForTimeout(8000);
    seen[name].fixed = await status();
    await page.screenshot({ path: join(pictures, `vscode-${name.split(".")[1]}-fixed.png`) });
  };
  await look("bad.py");
  await look("bad.ipynb");
} catch (error) {
  seen.error = String(error);
  seen.log = log.join("").slice(-2000);
  await browser.contexts()[0]?.pages()[0]?.screenshot({ path: join(pictures, "vscode-error.png") });
} finally {
  await browser.close();
  server.kill();
  rmSync(home, { recursive: true, force: true });
}
console.log(JSON.stringify(seen, null, 1));
process.exit(seen.error === undefined ? 0 : 1);

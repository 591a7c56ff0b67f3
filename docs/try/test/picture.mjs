// node picture.mjs FOLDER CHROMIUM FILE PICTURE: opens the built page, gives it a file, and takes the picture of docs/editors.md.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [folder, executablePath, file, picture] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json" };
const server = http.createServer((request, response) => {
  const name = path.join(folder, decodeURIComponent(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
  if (!fs.existsSync(name)) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": types[path.extname(name)] ?? "application/octet-stream" }).end(fs.readFileSync(name));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.setInputFiles("#open", file);
  await page.waitForSelector(".finding[data-rule]", { timeout: 60000 });
  await page.screenshot({ path: picture });
} finally {
  await browser.close();
  server.close();
}

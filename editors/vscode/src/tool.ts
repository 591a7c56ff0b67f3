/** Finds mpslint and runs it: the program of a setting, of the Python extension's interpreter, or of the PATH. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

/** How mpslint is started: a program and the arguments before its own. */
export interface Tool {
  readonly command: string;
  readonly args: readonly string[];
  readonly python?: string;
}

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const LONGEST_MS = 120_000;
/** An estimate builds the model twice in processes that mpslint gives five minutes each. */
export const LONGEST_ESTIMATE_MS = 660_000;
const MOST_BYTES = 32 * 1024 * 1024;

/** Returns the output of a program; a program that can't be started has the code 127. */
export function run(command: string, args: readonly string[], cwd?: string, timeout = LONGEST_MS): Promise<Output> {
  return new Promise((resolve) => {
    execFile(command, [...args], { cwd, timeout, maxBuffer: MOST_BYTES }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 127;
      resolve({ code, stdout, stderr: stderr || (code === 127 ? String(error) : "") });
    });
  });
}

/** Returns the interpreter that a setting or the Python extension names, or undefined. */
export async function interpreter(resource?: vscode.Uri): Promise<string | undefined> {
  const set = vscode.workspace.getConfiguration("mpslint", resource).get<string>("interpreter");
  if (set) {
    return set;
  }
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension === undefined) {
    return inFolder(resource);
  }
  const api = extension.isActive ? extension.exports : await extension.activate();
  const environment = api?.environments?.getActiveEnvironmentPath?.(resource);
  const resolved = environment && (await api.environments.resolveEnvironment(environment));
  return resolved?.executable?.uri?.fsPath ?? inFolder(resource);
}

/** Returns the interpreter of a virtual environment in the folder of the workspace, where the workspace is trusted. */
function inFolder(resource?: vscode.Uri): string | undefined {
  const folder = (resource && vscode.workspace.getWorkspaceFolder(resource)) ?? vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined || !vscode.workspace.isTrusted) {
    return undefined;
  }
  const names = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  return [".venv", "venv"].map((name) => path.join(folder.uri.fsPath, name, ...names)).find((candidate) => existsSync(candidate));
}

/** Returns the first mpslint that answers and has a language server, or undefined. */
export async function findTool(log: vscode.LogOutputChannel, resource?: vscode.Uri): Promise<Tool | undefined> {
  const set = vscode.workspace.getConfiguration("mpslint", resource).get<string>("path");
  const python = await interpreter(resource);
  const candidates: Tool[] = set ? [{ command: set, args: [] }] : [];
  if (!set && python) {
    candidates.push({ command: python, args: ["-m", "mpslint"], python });
  }
  if (!set) {
    candidates.push({ command: "mpslint", args: [], python });
  }
  for (const tool of candidates) {
    // From a folder of its own, so that no module of the workspace is taken for mpslint.
    const answer = await run(tool.command, [...tool.args, "server", "--check"], homeFolder());
    log.info(`${[tool.command, ...tool.args].join(" ")} server --check: ${answer.code === 0 ? answer.stdout.trim() : answer.stderr.trim()}`);
    if (answer.code === 0) {
      return tool;
    }
  }
  return undefined;
}

/** Returns a folder in which no file can be taken for a module. */
export function homeFolder(): string {
  return path.dirname(__dirname);
}

/** Returns the options that the settings ask for, for every command of mpslint. */
export function options(resource?: vscode.Uri): string[] {
  const settings = vscode.workspace.getConfiguration("mpslint", resource);
  return ["memory", "chip", "torch", "severity"].flatMap((name) => {
    const value = settings.get<string>(name);
    return value ? [`--${name}`, value] : [];
  });
}

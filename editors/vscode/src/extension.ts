/** The extension: starts `mpslint server`, and shows what a language server can't: the target, plans and estimates. */
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { Lenses } from "./lenses";
import { Status } from "./status";
import { findTool, homeFolder, interpreter, options, run, type Tool } from "./tool";

const LANGUAGES = ["python", "yaml", "shellscript", "dockerfile", "makefile", "json", "dotenv"];
const FIX_ALL = "source.fixAll.mpslint";

let client: LanguageClient | undefined;
let tool: Tool | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("mpslint", { log: true });
  const status = new Status(() => tool);
  const lenses = new Lenses(() => tool, log);
  const start = () => restart(log, status, lenses);
  const command = (name: string, action: (...args: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(`mpslint.${name}`, action));
  context.subscriptions.push(log, status, lenses, vscode.languages.registerCodeLensProvider({ language: "python" }, lenses));
  command("restart", start);
  command("install", () => install(start));
  command("showOutput", () => log.show());
  command("fixAll", fixAll);
  command("showPlan", (uri?: vscode.Uri) => showPlan(uri ?? current()));
  command("estimateMemory", (uri?: vscode.Uri) => lenses.estimate(uri ?? current()));
  command("showAdvice", (uri?: vscode.Uri) => showAdvice(lenses, uri ?? current()));
  command("verify", (uri?: vscode.Uri) => verify(uri ?? current()));
  command("explainRule", explainRule);
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("mpslint") && start()),
    vscode.workspace.onWillSaveTextDocument((event) => {
      const settings = vscode.workspace.getConfiguration("mpslint", event.document.uri);
      if (settings.get<boolean>("fixOnSave") && client?.isRunning()) {
        event.waitUntil(fixesOf(event.document.uri).then((edit) => edit?.get(event.document.uri) ?? []));
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** Finds mpslint and starts its server; offers to install it where there is none. */
async function restart(log: vscode.LogOutputChannel, status: Status, lenses: Lenses): Promise<void> {
  await client?.stop().catch(() => undefined);
  client = undefined;
  tool = await findTool(log, current());
  if (tool === undefined) {
    status.missing();
    const choice = await vscode.window.showWarningMessage("mpslint isn't installed for this Python interpreter.", "Install", "Show the Log");
    if (choice !== undefined) {
      await vscode.commands.executeCommand(choice === "Install" ? "mpslint.install" : "mpslint.showOutput");
    }
    return;
  }
  const server: ServerOptions = { command: tool.command, args: [...tool.args, "server", ...options(current())], options: { cwd: homeFolder() } };
  const selected: LanguageClientOptions = {
    documentSelector: [
      ...LANGUAGES.flatMap((language) => [
        { scheme: "file", language },
        { scheme: "untitled", language },
      ]),
      { scheme: "vscode-notebook-cell", language: "python" }, // fixes and reasons in cells
    ],
    outputChannel: log,
  };
  client = new LanguageClient("mpslint", "mpslint", server, selected);
  await client.start();
  status.update();
  lenses.refresh();
}

/** Returns the file that is edited: the notebook where a cell is. */
function current(): vscode.Uri | undefined {
  return vscode.window.activeNotebookEditor?.notebook.uri ?? vscode.window.activeTextEditor?.document.uri;
}

/** Installs mpslint with pip, in a terminal where its output is seen, and starts the server when that is done. */
async function install(start: () => Promise<void>): Promise<void> {
  const python = (await interpreter(current())) ?? (process.platform === "win32" ? "python" : "python3");
  const task = new vscode.Task(
    { type: "mpslint" },
    vscode.TaskScope.Workspace,
    "install",
    "mpslint",
    new vscode.ProcessExecution(python, ["-m", "pip", "install", "mpslint[lsp]"]),
  );
  const done = vscode.tasks.onDidEndTaskProcess((event) => {
    if (event.execution.task.name === "install" && event.execution.task.source === "mpslint") {
      done.dispose();
      void start();
    }
  });
  await vscode.tasks.executeTask(task);
}

/** Returns what "fix all" would write in a file or a notebook. */
async function fixesOf(uri: vscode.Uri): Promise<vscode.WorkspaceEdit | undefined> {
  const document = await vscode.workspace.openTextDocument(uri);
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", uri, whole, FIX_ALL, 10);
  return actions?.find((action) => action.kind?.value === FIX_ALL)?.edit;
}

/** Writes all safe fixes of the file, or of the notebook, that is edited. */
async function fixAll(): Promise<void> {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  const cell = notebook?.getCells().find((one) => one.kind === vscode.NotebookCellKind.Code)?.document.uri;
  const uri = cell ?? vscode.window.activeTextEditor?.document.uri;
  const edit = uri && (await fixesOf(uri));
  if (edit === undefined || edit.size === 0) {
    void vscode.window.showInformationMessage("mpslint: nothing to fix safely.");
    return;
  }
  await vscode.workspace.applyEdit(edit);
}

/** Shows a text beside the editor, read-only as far as an unsaved document can be. */
async function show(content: string, language: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content, language });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true, preserveFocus: true });
}

async function showPlan(uri: vscode.Uri | undefined): Promise<void> {
  if (tool === undefined || uri === undefined) {
    return;
  }
  const answer = await run(tool.command, [...tool.args, "plan", uri.fsPath, ...options(uri)], homeFolder());
  await show(answer.stdout || answer.stderr, "plaintext");
}

/** Shows what would make a run's step shorter; works it out first where that was not asked yet. */
async function showAdvice(lenses: Lenses, uri: vscode.Uri | undefined): Promise<void> {
  if (lenses.adviceFor(uri) === "") {
    await lenses.estimate(uri);
  }
  const advice = lenses.adviceFor(uri);
  if (advice !== "") {
    await show(advice, "markdown");
  }
}

/** Shows the page of a rule; those found in the file come first. */
async function explainRule(): Promise<void> {
  if (tool === undefined) {
    return;
  }
  const answer = await run(tool.command, [...tool.args, "rules", "--format", "json"], homeFolder());
  const rules: { id: string; name: string; title: string }[] = JSON.parse(answer.stdout || "[]");
  const found = new Set(vscode.languages.getDiagnostics().flatMap(([, all]) => all.map((one) => codeOf(one))));
  const items = rules
    .map((rule) => ({ label: rule.id, description: rule.name, detail: rule.title, here: found.has(rule.id) }))
    .sort((a, b) => Number(b.here) - Number(a.here) || a.label.localeCompare(b.label));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Rule", matchOnDescription: true, matchOnDetail: true });
  if (chosen !== undefined) {
    const page = await run(tool.command, [...tool.args, "explain", chosen.label, "--format", "markdown"], homeFolder());
    await show(page.stdout || page.stderr, "markdown");
  }
}

/** Returns the id of the rule that a finding is of. */
export function codeOf(diagnostic: vscode.Diagnostic): string {
  return String(typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code);
}

/** Runs verify in a terminal: it takes minutes, and says what it does. */
function verify(uri: vscode.Uri | undefined): void {
  if (tool === undefined || uri === undefined) {
    return;
  }
  const shellArgs = [...tool.args, "verify", uri.fsPath, ...options(uri).filter((_, i, all) => all[i - (i % 2)] !== "--severity")];
  const task = new vscode.Task({ type: "mpslint" }, vscode.TaskScope.Workspace, "verify", "mpslint", new vscode.ProcessExecution(tool.command, shellArgs));
  void vscode.tasks.executeTask(task);
}

/** The item of the status bar: what the file is checked for, and how much was found. */
import * as vscode from "vscode";
import { homeFolder, options, run, type Tool } from "./tool";

interface Choice {
  readonly version: string;
  readonly source: string;
}

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("mpslint", vscode.StatusBarAlignment.Right, 90);
  private readonly subscriptions: vscode.Disposable[];
  private readonly targets = new Map<string, Promise<string>>();
  private turn = 0;

  constructor(private readonly tool: () => Tool | undefined) {
    this.item.name = "mpslint";
    this.item.command = "mpslint.explainRule";
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.window.onDidChangeActiveNotebookEditor(() => this.update()),
      vscode.languages.onDidChangeDiagnostics(() => this.update()),
      vscode.workspace.onDidSaveTextDocument(() => this.forget()),
      vscode.workspace.onDidSaveNotebookDocument(() => this.forget()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(this.item, ...this.subscriptions).dispose();
  }

  /** Says that there is no mpslint. */
  missing(): void {
    this.item.text = "$(warning) mpslint";
    this.item.tooltip = "mpslint isn't installed; click to install it";
    this.item.command = "mpslint.install";
    this.item.show();
  }

  private forget(): void {
    this.targets.clear();
    void this.update();
  }

  /** Shows the target and the number of findings of the file that is edited. */
  async update(): Promise<void> {
    const notebook = vscode.window.activeNotebookEditor?.notebook;
    const uri = notebook?.uri ?? vscode.window.activeTextEditor?.document.uri;
    const tool = this.tool();
    if (tool === undefined) {
      return;
    }
    if (uri === undefined || uri.scheme !== "file") {
      this.item.hide();
      return;
    }
    const turn = ++this.turn;
    const target = await this.target(tool, uri);
    if (turn !== this.turn) {
      return; // a later update shows what holds now
    }
    const texts = notebook ? notebook.getCells().map((cell) => cell.document.uri) : [uri];
    const found = texts.flatMap((text) => vscode.languages.getDiagnostics(text)).filter((one) => one.source === "mpslint");
    this.item.command = "mpslint.explainRule";
    this.item.text = `$(chip) ${target}: ${found.length}`;
    this.item.tooltip = `mpslint: ${found.length} ${found.length === 1 ? "finding" : "findings"} for ${target}`;
    this.item.show();
  }

  /** Returns the target of a file in a few words, asked once between two saves. */
  private target(tool: Tool, uri: vscode.Uri): Promise<string> {
    const known = this.targets.get(uri.fsPath);
    if (known !== undefined) {
      return known;
    }
    const asked = options(uri).filter((_, index, all) => all[index - (index % 2)] !== "--severity");
    const answered = run(tool.command, [...tool.args, "config", uri.fsPath, "--format", "json", ...asked], homeFolder()).then((answer) => {
      if (answer.code !== 0) {
        return "MPS";
      }
      const data = JSON.parse(answer.stdout) as { target: Record<string, Choice>; memory_gib?: { value: number | null } };
      const memory = data.memory_gib?.value ? ` ${data.memory_gib.value} GB` : "";
      return `torch ${data.target.torch?.version ?? "?"}${memory}`;
    });
    this.targets.set(uri.fsPath, answered);
    return answered;
  }
}

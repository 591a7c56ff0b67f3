/** Code lenses above training runs: the plan, and what memory the run needs at its peak. */
import * as vscode from "vscode";
import { homeFolder, options, run, type Tool } from "./tool";

interface Place {
  readonly line: number;
  readonly cell?: number;
}

interface Plan {
  readonly kind: string;
  readonly title: string;
  readonly place: Place | null;
}

const GB = 2 ** 30;

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly plans = new Map<string, Promise<Plan[]>>();
  private readonly estimates = new Map<string, string>();
  private readonly subscriptions = [
    vscode.workspace.onDidSaveTextDocument((document) => this.refresh(document.uri)),
    vscode.workspace.onDidSaveNotebookDocument((notebook) => this.refresh(notebook.uri)),
  ];

  constructor(
    private readonly tool: () => Tool | undefined,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  dispose(): void {
    vscode.Disposable.from(this.changed, ...this.subscriptions).dispose();
  }

  /** Asks again for the plans of a file that was saved, or of all files. */
  refresh(uri?: vscode.Uri): void {
    for (const known of [this.plans, this.estimates]) {
      if (uri === undefined) {
        known.clear();
      } else {
        known.delete(uri.fsPath);
      }
    }
    this.changed.fire();
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const notebook = vscode.workspace.notebookDocuments.find((one) => one.getCells().some((cell) => cell.document === document));
    const uri = notebook?.uri ?? document.uri;
    const tool = this.tool();
    if (tool === undefined || uri.scheme !== "file" || !vscode.workspace.getConfiguration("mpslint", uri).get<boolean>("codeLens")) {
      return [];
    }
    const cell = notebook && notebook.getCells().findIndex((one) => one.document === document) + 1;
    const plans = await this.plansOf(tool, uri);
    return plans
      .filter((plan) => plan.place !== null && plan.place.cell === cell && plan.place.line <= document.lineCount)
      .flatMap((plan) => this.lensesOf(plan, uri));
  }

  private lensesOf(plan: Plan, uri: vscode.Uri): vscode.CodeLens[] {
    const line = (plan.place?.line ?? 1) - 1;
    const range = new vscode.Range(line, 0, line, 0);
    const estimated = this.estimates.get(uri.fsPath) ?? "estimate memory";
    return [
      new vscode.CodeLens(range, { title: "training plan", command: "mpslint.showPlan", arguments: [uri] }),
      new vscode.CodeLens(range, { title: estimated, command: "mpslint.estimateMemory", arguments: [uri] }),
      new vscode.CodeLens(range, { title: "verify", command: "mpslint.verify", arguments: [uri] }),
    ];
  }

  private plansOf(tool: Tool, uri: vscode.Uri): Promise<Plan[]> {
    const known = this.plans.get(uri.fsPath);
    if (known !== undefined) {
      return known;
    }
    const asked = run(tool.command, [...tool.args, "plan", uri.fsPath, "--format", "json", ...options(uri)], homeFolder()).then((answer) => {
      try {
        return (JSON.parse(answer.stdout) as { plans: Plan[] }[]).flatMap((file) => file.plans);
      } catch {
        this.log.warn(`plan: ${answer.stderr.trim()}`);
        return [];
      }
    });
    this.plans.set(uri.fsPath, asked);
    return asked;
  }

  /** Works out the memory of a file's runs, which takes seconds, and shows it in the lenses; says why where it can't. */
  async estimate(uri: vscode.Uri | undefined): Promise<void> {
    const tool = this.tool();
    if (tool === undefined || uri === undefined) {
      return;
    }
    const args = [...tool.args, "plan", uri.fsPath, "--estimate", "--format", "json", ...options(uri)];
    const title = "mpslint: estimating memory";
    const answer = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
      run(tool.command, args, homeFolder()),
    );
    const said = answer.code === 0 ? summary(answer.stdout) : "";
    if (said === "") {
      void vscode.window.showWarningMessage(answer.stderr.trim() || "mpslint: no training run to estimate in this file.");
      return;
    }
    this.estimates.set(uri.fsPath, said);
    this.changed.fire();
  }
}

/** Returns what an estimate says in a few words: the peak, the smallest Mac that it fits, and the time of a step. */
function summary(json: string): string {
  const [first] = JSON.parse(json) as { estimate?: { fits?: readonly Fit[] }; forecast?: { rows: readonly Row[] } | null }[];
  const fits = first?.estimate?.fits ?? [];
  const peak = fits[0]?.peak;
  if (peak === undefined) {
    return "";
  }
  const smallest = Math.min(...fits.filter((mac) => mac.status === "fits").map((mac) => mac.memory_gb));
  const timed = first?.forecast?.rows.find((row) => row.step !== null);
  const step = timed?.step;
  const time = step ? `, ${digits(step.seconds)} s (${digits(step.low)} to ${digits(step.high)} s) a step on ${timed.mac}` : "";
  return `peak ${(peak / GB).toFixed(1)} GB, ${Number.isFinite(smallest) ? `fits ${smallest} GB` : "fits no Mac"}${time}`;
}

/** Returns a number with two digits that mean something, and never with an exponent: 120, 1.4, 0.057. */
function digits(value: number): string {
  return String(value < 100 ? Number(value.toPrecision(2)) : Math.round(value));
}

/** The estimated time of a step on one Mac; null where it isn't known. */
interface Row {
  readonly mac: string;
  readonly step: { readonly seconds: number; readonly low: number; readonly high: number } | null;
}

interface Fit {
  readonly memory_gb: number;
  readonly peak: number;
  readonly status: "fits" | "tight" | "too big";
}

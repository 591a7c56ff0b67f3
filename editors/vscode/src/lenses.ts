/** Code lenses above training runs: the plan, what memory and time the run needs, and what would make it faster. */
import * as vscode from "vscode";
import { homeFolder, LONGEST_ESTIMATE_MS, options, run, type Tool } from "./tool";

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
  private readonly estimates = new Map<string, Estimated>();
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
    const known = this.estimates.get(uri.fsPath);
    const title = known?.summary ?? "estimate memory and time";
    const lenses = [
      new vscode.CodeLens(range, { title: "training plan", command: "mpslint.showPlan", arguments: [uri] }),
      new vscode.CodeLens(range, { title, command: "mpslint.estimateMemory", arguments: [uri], tooltip: known?.macs.join("\n") }),
      new vscode.CodeLens(range, { title: "verify", command: "mpslint.verify", arguments: [uri] }),
    ];
    const count = known?.advice.length ?? 0;
    if (known !== undefined && count > 0) {
      const many = `${count} ${count === 1 ? "way" : "ways"} to a shorter step`;
      lenses.splice(2, 0, new vscode.CodeLens(range, { title: many, command: "mpslint.showAdvice", arguments: [uri], tooltip: known.advice.join("\n") }));
    }
    return lenses;
  }

  /** Returns what an estimate proposes to change, and the time on each Mac; nothing before the estimate. */
  adviceFor(uri: vscode.Uri | undefined): string {
    const known = uri && this.estimates.get(uri.fsPath);
    return known ? [...known.advice.map((line) => `- ${line}`), "", ...known.macs].join("\n") : "";
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
    const title = "mpslint: estimating memory and time";
    const answer = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
      run(tool.command, args, homeFolder(), LONGEST_ESTIMATE_MS),
    );
    const said = answer.code === 0 ? estimated(answer.stdout) : undefined;
    if (said === undefined) {
      void vscode.window.showWarningMessage(answer.stderr.trim() || "mpslint: no training run to estimate in this file.");
      return;
    }
    this.estimates.set(uri.fsPath, said);
    this.changed.fire();
  }
}

/** Returns what an estimate says: in a few words the peak, the smallest Mac that it fits and the time of a step there; what to change. */
export function estimated(json: string): Estimated | undefined {
  const [first] = JSON.parse(json) as { estimate?: { fits?: readonly Fit[] }; forecast?: { rows: readonly Row[]; advice: readonly string[] } | null }[];
  const fits = first?.estimate?.fits ?? [];
  const peak = fits[0]?.peak;
  if (peak === undefined) {
    return undefined;
  }
  const smallest = Math.min(...fits.filter((mac) => mac.status === "fits").map((mac) => mac.memory_gb));
  const rows = (first?.forecast?.rows ?? []).filter((row) => row.step !== null);
  const row = chosen(rows);
  const time = row ? ` · ${duration(row.step)} a step on ${row.mac} (${duration(row.step, "low")} to ${duration(row.step, "high")})` : "";
  const fit = Number.isFinite(smallest) ? `fits ${smallest} GB` : "fits no Mac";
  const macs = rows.map((one) => `${one.mac}: ${duration(one.step)} a step (${duration(one.step, "low")} to ${duration(one.step, "high")})`);
  return { summary: `peak ${(peak / GB).toFixed(1)} GB, ${fit}${time}`, macs, advice: first?.forecast?.advice ?? [] };
}

/** Returns the Mac whose time a lens shows: this one where it was measured, else the first that the run fits with room to spare. */
function chosen(rows: readonly Row[]): Row | undefined {
  return rows.find((row) => row.basis?.startsWith("measured") || row.mac.startsWith("this Mac")) ?? rows.find((row) => row.memory_gb > 0 && row.fits === "yes") ?? rows[0];
}

/** Returns seconds with two digits that mean something, and never with an exponent: 120 s, 1.4 s, 57 ms. */
function duration(step: Step | null, end: keyof Step = "seconds"): string {
  const seconds = step?.[end] ?? 0;
  const [value, unit] = seconds < 0.0995 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${value < 100 ? Number(value.toPrecision(2)) : Math.round(value)} ${unit}`;
}

interface Estimated {
  readonly summary: string;
  /** The time on each Mac, one a line. */
  readonly macs: readonly string[];
  readonly advice: readonly string[];
}

interface Step {
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
}

/** The estimated time of a step on one Mac; null where it isn't known. A memory of 0 is the machine that mpslint runs on. */
interface Row {
  readonly mac: string;
  readonly memory_gb: number;
  readonly fits: string;
  readonly basis?: string;
  readonly step: Step | null;
}

interface Fit {
  readonly memory_gb: number;
  readonly peak: number;
  readonly status: "fits" | "tight" | "too big";
}

/**
 * The traceback of a cell, with the buttons Fix and Explain below it.
 *
 * One rule: the traceback is drawn by whoever draws the error stream, and nothing of it changes.
 */

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { TranslationBundle } from "@jupyterlab/translation";
import { PanelLayout, Widget } from "@lumino/widgets";

import type { ShownCell } from "../protocol";
import { cellOf, shownCell } from "./cells";

const ERROR = "application/vnd.jupyter.error";
const STREAM = "application/vnd.jupyter.stderr";
const RANK = 100; // before the error stream, which has 110

type Factory = NonNullable<ReturnType<IRenderMimeRegistry["getFactory"]>>;
type Options = Parameters<Factory["createRenderer"]>[0];
type Renderer = ReturnType<Factory["createRenderer"]>;
type Model = Parameters<Renderer["renderModel"]>[0];

/** What the person wants to know of a cell that failed. */
export type Wish = "fix" | "explain";

interface Place {
  tracker: INotebookTracker;
  trans: TranslationBundle;
  ask(wish: Wish, cell: ShownCell): void;
}

/** From now on a traceback in a notebook has the buttons. */
export function addButtons(registry: IRenderMimeRegistry, place: Place): void {
  const stream = registry.getFactory(STREAM);
  if (stream === undefined) return;
  registry.addFactory(
    {
      safe: true,
      mimeTypes: [ERROR],
      createRenderer: (options) => new Traceback(options, stream, place),
    },
    RANK,
  );
}

class Traceback extends Widget {
  constructor(
    options: Options,
    stream: Factory,
    private readonly place: Place,
  ) {
    super();
    this.addClass("lmc-traceback");
    this.base = stream.createRenderer({ ...options, mimeType: STREAM });
    this.row = row(place.trans, (wish) => this.ask(wish));
    const layout = new PanelLayout();
    layout.addWidget(this.base);
    this.layout = layout;
    this.node.append(this.row);
  }

  async renderModel(model: Model): Promise<void> {
    const error = (model.data[ERROR] ?? {}) as { ename?: unknown; traceback?: unknown };
    this.name = String(error.ename ?? "");
    this.text = Array.isArray(error.traceback) ? error.traceback.join("\n") : "";
    this.show_();
    await this.base.renderModel(model);
  }

  protected override onAfterAttach(): void {
    this.show_();
  }

  /** The buttons stand where there is a cell to ask about: the person's own, which they did not stop. */
  private show_(): void {
    const found = this.find();
    const isOurs = found === null || /^\s*%%?lmc\b/.test(found.cell.source);
    this.row.hidden = isOurs || this.name === "KeyboardInterrupt";
  }

  private find(): { notebook: NotebookPanel; cell: ShownCell } | null {
    const notebook = this.place.tracker.find((each) => each.node.contains(this.node));
    const language = notebook?.model?.defaultKernelLanguage || "python";
    const cell = notebook && language === "python" ? cellOf(notebook, this.node) : undefined;
    return notebook && cell ? { notebook, cell: shownCell(cell, this.text) } : null;
  }

  private ask(wish: Wish): void {
    const found = this.find();
    if (found !== null) this.place.ask(wish, found.cell);
  }

  private readonly base: Renderer;
  private readonly row: HTMLElement;
  private name = "";
  private text = "";
}

function row(trans: TranslationBundle, ask: (wish: Wish) => void): HTMLElement {
  const node = document.createElement("div");
  node.className = "lmc-traceback-row";
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", trans.__("Ask the model about this error"));
  node.dataset.lmSuppressShortcuts = "true"; // Enter presses the button, and edits no cell
  node.hidden = true;
  const add = (wish: Wish, label: string, caption: string) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "lmc-traceback-button";
    button.textContent = label;
    button.title = caption;
    button.addEventListener("click", () => ask(wish));
    node.append(button);
  };
  add("fix", trans.__("Fix"), trans.__("Ask the model why this cell failed, and how to correct it"));
  add("explain", trans.__("Explain"), trans.__("Ask the model why this cell failed"));
  return node;
}

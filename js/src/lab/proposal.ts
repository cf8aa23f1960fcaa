/**
 * A proposed cell in the output of a `%%lmc` cell, with its buttons below it.
 *
 * One rule: the card is drawn by whoever draws HTML, and what is put into a cell is the kernel's own
 * text of the proposal, by its id, and never what stands in the output.
 */

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { TranslationBundle } from "@jupyterlab/translation";
import { PanelLayout, Widget } from "@lumino/widgets";

import type { Taken } from "../protocol";

const PROPOSAL = "application/vnd.lmc.proposal+json";
const HTML = "text/html";
const RANK = 40; // before HTML, which has 50

type Factory = NonNullable<ReturnType<IRenderMimeRegistry["getFactory"]>>;
type Options = Parameters<Factory["createRenderer"]>[0];
type Renderer = ReturnType<Factory["createRenderer"]>;
type Model = Parameters<Renderer["renderModel"]>[0];

interface Place {
  trans: TranslationBundle;
  take(proposal: string, how: Taken): void;
}

/** From now on a proposal in a notebook has its buttons. */
export function addProposals(registry: IRenderMimeRegistry, place: Place): void {
  const html = registry.getFactory(HTML);
  if (html === undefined) return;
  registry.addFactory(
    { safe: true, mimeTypes: [PROPOSAL], createRenderer: (options) => new Proposal(options, html, place) },
    RANK,
  );
}

class Proposal extends Widget {
  constructor(
    options: Options,
    html: Factory,
    private readonly place: Place,
  ) {
    super();
    this.base = html.createRenderer({ ...options, mimeType: HTML });
    const layout = new PanelLayout();
    layout.addWidget(this.base);
    this.layout = layout;
    this.row.className = "lmc-proposal-row";
    this.row.setAttribute("role", "group");
    this.row.setAttribute("aria-label", place.trans.__("What to do with the proposed cell"));
    this.row.dataset.lmSuppressShortcuts = "true"; // Enter presses the button, and edits no cell
    this.node.append(this.row);
  }

  async renderModel(model: Model): Promise<void> {
    const { id, cell } = (model.data[PROPOSAL] ?? {}) as { id?: unknown; cell?: unknown };
    this.row.replaceChildren();
    if (typeof id === "string") this.offer(id, typeof cell === "number" ? cell : null);
    await this.base.renderModel(model);
  }

  private offer(id: string, cell: number | null): void {
    const { trans } = this.place;
    const add = (label: string, how: Taken) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "lmc-traceback-button";
      button.textContent = label;
      button.addEventListener("click", (event) => event.isTrusted && this.place.take(id, how));
      this.row.append(button);
    };
    add(trans.__("Insert below"), "inserted");
    if (cell === null) return;
    add(trans.__("Replace cell %1…", cell), "replaced");
    add(trans.__("Replace and run…"), "ran");
  }

  private readonly base: Renderer;
  private readonly row = document.createElement("div");
}

/**
 * A question, or another live part of ours, in the output of a notebook that is opened again: what
 * was saved of it stands there, unless the page finds the live one.
 *
 * One rule: whether there is a live one says what draws widgets, by the view that it puts there or
 * not. Without it there are "Loading widget…" and "model not found", of which nobody has anything.
 */

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { PanelLayout, Widget } from "@lumino/widgets";

const SAVED = "application/vnd.lmc.saved+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const HTML = "text/html";
const RANK = -11; // before widgets, which have -10

type Renderer = ReturnType<IRenderMimeRegistry["createRenderer"]>;
type Model = Parameters<Renderer["renderModel"]>[0];

/** From now on, in the outputs of one notebook. */
export function drawSaved(registry: IRenderMimeRegistry): void {
  const createRenderer = () => new Saved(registry);
  registry.addFactory({ safe: false, mimeTypes: [SAVED], createRenderer }, RANK);
}

class Saved extends Widget {
  constructor(private readonly registry: IRenderMimeRegistry) {
    super();
    this.layout = this.place;
  }

  async renderModel(model: Model): Promise<void> {
    this.end();
    this.model = model;
    this.saved = this.registry.createRenderer(HTML in model.data ? HTML : "text/plain");
    this.saved.addClass("lmc-saved");
    this.place.addWidget(this.saved);
    this.findLive();
    await this.saved.renderModel(model);
  }

  protected override onAfterAttach(): void {
    queueMicrotask(() => this.findLive()); // it stands beside this, whose parent is at work
  }

  override dispose(): void {
    this.end();
    super.dispose();
  }

  /**
   * Ask for the live view, once. What draws widgets finds what it has drawn before it knows the
   * kernel among the outputs of a cell themselves, so that it stands beside this and not in it.
   */
  private findLive(): void {
    const { model, parent, registry } = this;
    if (!model || this.live || !(parent?.layout instanceof PanelLayout)) return;
    if (registry.getFactory(VIEW) === undefined) return;
    const live = registry.createRenderer(VIEW);
    this.live = live;
    live.addClass("jp-OutputArea-output");
    live.hide();
    parent.layout.insertWidget(parent.layout.widgets.indexOf(this), live);
    this.views.observe(live.node, { childList: true });
    void live.renderModel(model);
  }

  /** One of the two. */
  private choose(): void {
    const { live, saved } = this;
    if (live === null || saved === null) return;
    const isLive = live.node.firstElementChild !== null;
    live.setHidden(!isLive);
    this.setHidden(isLive);
    if (isLive) saved.parent = null;
    else if (saved.parent === null) this.place.addWidget(saved);
  }

  private end(): void {
    this.views.disconnect();
    this.live?.dispose();
    this.saved?.dispose();
    this.model = this.live = this.saved = null;
    this.show();
  }

  private readonly place = new PanelLayout();
  private readonly views = new MutationObserver(() => this.choose());
  private model: Model | null = null;
  private live: Renderer | null = null;
  private saved: Renderer | null = null;
}

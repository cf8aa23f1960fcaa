/**
 * The sidebar: the chat with the notebook that is in front.
 *
 * One rule: it finds the kernel, asks it for its panel and shows that widget. No conversation is
 * kept here, and while it is not sure whose panel to show, it shows none.
 */

import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { MimeModel } from "@jupyterlab/rendermime";
import type { TranslationBundle } from "@jupyterlab/translation";
import { LabIcon } from "@jupyterlab/ui-components";
import type { Drag } from "@lumino/dragdrop";
import { PanelLayout, Widget } from "@lumino/widgets";

import { asCell } from "../cell";
import type { AboutCell, InsertCell } from "../protocol";
import { ask, type Answer } from "./ask";
import { shownCell } from "./cells";
import { noteOrigin } from "./origin";

const VIEW = "application/vnd.jupyter.widget-view+json";
const CELLS = "application/vnd.jupyter.cells";
const DRAG = ["lm-dragenter", "lm-dragover", "lm-drop"];
const ASK_AGAIN_MS = 1_000;
const SILENT_MS = 5_000;
const LOST_MS = 15_000;
const INSTALL = "%pip install lmc-jupyter";
const UPGRADE = "%pip install --upgrade lmc-jupyter";

/** A speech balloon with a spark in it. */
export const icon = new LabIcon({
  name: "lmc-jupyter:chat",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3 jp-icon-selectable" fill="#616161" fill-rule="evenodd" d="M5 3h14a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3h-7l-5 4v-4H5a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zM12 4.6 10.5 9 6 10.5l4.5 1.5L12 16.4l1.5-4.4 4.5-1.5L13.5 9z"/>
</svg>`,
});

/** A notebook that was in front once: the view of its panel, and the kernel that it belongs to. */
interface Followed {
  kernel: string;
  view: Widget | null;
  /** Whether to ask its kernel again as soon as that is idle. */
  due: boolean;
  /** What the running kernel calls itself; a restarted one has another name. */
  session: string;
  /** The name of one that said good-bye. */
  gone: string;
}

export class Sidebar extends Widget {
  constructor(private readonly trans: TranslationBundle) {
    super();
    this.id = "lmc-sidebar";
    this.addClass("lmc-sidebar");
    this.title.icon = icon;
    this.title.caption = trans.__("Chat with a model in this notebook's kernel (LMC)");
    this.node.setAttribute("role", "complementary");
    this.node.setAttribute("aria-label", trans.__("LMC chat"));
    this.node.tabIndex = -1;
    this.message.className = "lmc-sidebar-message";
    this.message.setAttribute("role", "status");
    this.node.append(this.message);
    this.layout = new PanelLayout();
    this.node.dataset.state = "blank";
  }

  /** The notebook whose panel is shown; null where none is open. */
  notebook: NotebookPanel | null = null;

  /** Called whenever a notebook's panel has come into sight. */
  onPanel: (notebook: NotebookPanel) => void = () => undefined;

  /** Whether the panel of this notebook is in sight. */
  shows(notebook: NotebookPanel): boolean {
    return this.isVisible && this.notebook === notebook && this.node.dataset.state === "ready";
  }

  /** The next time that this is activated, the question that waits gets the focus. */
  wantCard(): void {
    this.wantsCard = true;
  }

  /** Show this notebook's panel; until it is there, nobody can write into another one's. */
  follow(notebook: NotebookPanel | null): void {
    if (notebook === this.notebook && notebook !== null) return;
    this.notebook = notebook;
    this.asked = null;
    this.blank();
    if (notebook !== null && !this.followed.has(notebook)) this.watch(notebook);
    void this.refresh();
  }

  /** Ask again, e.g. after a cell that may have installed the package. */
  cellExecuted(notebook: Widget): void {
    if (notebook === this.notebook?.content && this.wanting) void this.refresh(true);
  }

  /** Ask the panel about a cell of the notebook in front, as soon as it is here. */
  ask(about: AboutCell): void {
    this.asked = about;
    if (this.isVisible) void this.refresh(); // else when it is shown
  }

  /**
   * Insert code below the active cell of a notebook, and run it there or lead the keys to it; false
   * where that cannot be.
   */
  insert(notebook: NotebookPanel | null, { code, language, origin, run }: InsertCell): boolean {
    const content = notebook?.content;
    if (!content || content.model?.readOnly !== false) return false;
    const { type, source } = asCell(code, language);
    NotebookActions.insertBelow(content);
    if (type !== "code") NotebookActions.changeCellType(content, type);
    const cell = content.activeCell;
    cell?.model.sharedModel.setSource(source);
    if (cell) noteOrigin(cell.model, origin);
    if (run) void NotebookActions.run(content, notebook.sessionContext);
    else {
      content.mode = "edit";
      void cell?.ready.then(() => cell.editor?.focus());
    }
    return true;
  }

  /** Say something to the panel that is shown. */
  tell(name: string, detail: object = {}): void {
    for (const panel of this.node.querySelectorAll(".lmc-panel")) panel.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /** Cells that are dragged into the panel are pointed at. */
  handleEvent(event: Event): void {
    const drag = event as Drag.Event;
    if (!drag.mimeData.hasData(CELLS)) return;
    drag.preventDefault();
    drag.stopPropagation();
    if (event.type === "lm-dragover") drag.dropAction = drag.proposedAction;
    if (event.type !== "lm-drop") return;
    drag.dropAction = "none"; // the notebook keeps its cell
    const dragged = drag.mimeData.getData(CELLS) as { id?: unknown }[];
    for (const { id } of [...dragged].reverse()) {
      const cell = this.notebook?.content.widgets.find(({ model }) => model.id === id);
      if (cell) this.tell("lmc:about-cell", { wish: "ask", cell: shownCell(cell) });
    }
  }

  protected override onAfterAttach(): void {
    for (const type of DRAG) this.node.addEventListener(type, this, true);
  }

  protected override onBeforeDetach(): void {
    for (const type of DRAG) this.node.removeEventListener(type, this, true);
  }

  protected override onAfterShow(): void {
    void this.refresh();
    // Notebook 7 fitted its side area without our least width, which counts once we are shown
    for (let area = this.parent; area !== null; area = area.parent) area.fit();
  }

  /** Focus the composer, or the question; or be ready to hand the focus on to it. */
  protected override onActivateRequest(): void {
    if (this.handFocus()) return;
    this.node.focus();
    this.handFocusOn();
  }

  private handFocus(): boolean {
    const find = (selector: string) =>
      [...this.node.querySelectorAll<HTMLElement>(selector)].find((each) => each.checkVisibility());
    const panel = find(".lmc-panel[data-ready]");
    if (this.wantsCard && !panel) return false; // what it asks is not known yet
    const card = this.wantsCard ? find("[data-proposal]") : undefined;
    this.wantsCard = false;
    const target = card ?? find("textarea:not([disabled])");
    target?.focus();
    return target !== undefined;
  }

  /** As soon as what is to have the focus is drawn. */
  private handFocusOn(): void {
    const mine = () => document.activeElement === this.node;
    if (!mine() || this.handFocus()) return;
    const drawn = new MutationObserver(() => {
      if (!mine() || this.handFocus()) drawn.disconnect();
    });
    drawn.observe(this.node, { childList: true, subtree: true, attributeFilter: ["data-ready"] });
  }

  /** Show the panel, or why there is none; `again` looks anew for the package, `anew` connects anew. */
  private async refresh(again = false, anew = false): Promise<void> {
    const { notebook, trans } = this;
    const generation = ++this.generation;
    const isOutdated = () => generation !== this.generation || notebook !== this.notebook;
    if (notebook === null) {
      return this.say(trans.__("Open a notebook to chat here with a model that works in its kernel."));
    }
    if (!this.isVisible) return;
    const entry = this.followed.get(notebook);
    if (entry === undefined) return;
    if (entry.view === null) this.connect();
    try {
      await notebook.sessionContext.ready;
      if (isOutdated()) return;
      const kernel = notebook.sessionContext.session?.kernel;
      if (!kernel) {
        return this.say(
          trans.__("This notebook has no kernel. Choose one, and the chat opens here."),
        );
      }
      if (entry.view !== null && entry.kernel === kernel.id && !entry.view.isDisposed) {
        return this.show_(entry.view);
      }
      this.drop(entry);
      entry.kernel = kernel.id;
      if (anew) await kernel.reconnect();
      if (isOutdated()) return;
      if (kernel.status === "busy") this.wait(trans.__("The chat opens when the running cell has finished."));
      const { language_info: language } = await kernel.info;
      if (isOutdated()) return;
      if (language.name !== "python") {
        return this.say(
          trans.__("The chat works in Python kernels; this notebook's runs %1.", language.name),
        );
      }
      if (kernel.status === "busy" && !kernel.supportsSubshells) {
        entry.due = true;
        return this.wait(trans.__("The chat opens when the running cell has finished."));
      }
      if (kernel.status !== "busy") this.wait(trans.__("Opening the chat…"));
      // a server may lose the answers of one connection, e.g. that of jupyter_server_documents 0.3
      clearTimeout(this.silence);
      this.silence = setTimeout(() => this.explain({ kind: "silent" }), LOST_MS);
      const answer = await ask(kernel, again);
      if (isOutdated()) return;
      if (answer.kind === "again") {
        await kernel.requestKernelInfo();
        if (!isOutdated()) await this.refresh(again);
        return;
      }
      if (answer.kind !== "panel") return this.explain(answer);
      const view = notebook.content.rendermime.createRenderer(VIEW);
      const data = { [VIEW]: { model_id: answer.model, version_major: 2, version_minor: 0 } };
      await view.renderModel(new MimeModel({ data, trusted: true }));
      if (isOutdated()) return view.dispose();
      entry.view = view;
      this.show_(view);
    } catch (error) {
      if (!isOutdated()) this.explain({ kind: "error", text: String(error) });
    }
  }

  /** Say why the kernel gave no panel, and what to do. */
  private explain(answer: Exclude<Answer, { kind: "panel" | "again" }> | { kind: "silent" }): void {
    const { trans } = this;
    if (answer.kind === "missing") {
      this.say(
        trans.__("lmc-jupyter is not installed where this kernel runs. Run this in a cell:"),
        INSTALL,
      );
    } else if (answer.kind === "old") {
      this.say(
        trans.__("The lmc-jupyter of this kernel is too old for the chat. Run this, and restart:"),
        UPGRADE,
      );
    } else if (answer.kind === "silent") {
      this.say(
        trans.__(
          "The kernel's answer has not come, so the chat is not open yet. If a cell runs, the chat opens when it " +
            "has ended. Else try again: the page then connects to the kernel anew, and your variables stay.",
        ),
      );
    } else {
      this.say(trans.__("The chat could not be opened. %1", answer.text));
    }
    this.wanting = true;
    const retry = document.createElement("button");
    retry.className = "jp-Button jp-mod-styled jp-mod-accept";
    retry.textContent = trans.__("Try again");
    retry.addEventListener("click", () => void this.refresh(true, answer.kind === "silent"));
    this.message.append(retry);
  }

  private say(text: string, code = ""): void {
    this.put("message", text);
    this.asked = null; // nobody expects it later
    if (code === "") return;
    const pre = document.createElement("pre");
    pre.textContent = code;
    this.message.append(pre);
  }

  /** Until the kernel answers, which it does not while a cell runs, nor say so to a new page. */
  private connect(): void {
    const { trans } = this;
    this.wait(trans.__("Connecting to the kernel…"));
    const text = trans.__(
      "The kernel does not answer yet: a cell may run, or wait for an answer in a page that was left. " +
        "The chat opens when the cell has ended; Interrupt Kernel, in the menu Kernel, ends it.",
    );
    this.silence = setTimeout(() => this.wait(text), SILENT_MS);
  }

  private wait(text: string): void {
    this.put("waiting", text);
  }

  private blank(): void {
    this.put("blank", "");
  }

  private put(state: "blank" | "waiting" | "ready" | "message", text: string): void {
    this.wanting = false;
    clearTimeout(this.silence);
    for (const child of (this.layout as PanelLayout).widgets) child.hide();
    const sentence = document.createElement("p");
    sentence.textContent = text;
    this.message.replaceChildren(sentence);
    this.message.hidden = text === "";
    this.node.dataset.state = state;
  }

  private show_(view: Widget): void {
    this.put("ready", "");
    const layout = this.layout as PanelLayout;
    if (!layout.widgets.includes(view)) layout.addWidget(view);
    view.show();
    this.handOver(view);
    this.handFocusOn();
    if (this.notebook !== null) this.onPanel(this.notebook);
  }

  /** What was asked goes to the panel when that is drawn and knows its conversation. */
  private handOver(view: Widget): void {
    const go = () => {
      if (this.asked === null) return true;
      const panel = view.node.querySelector(".lmc-panel[data-ready]");
      if (panel === null || !view.isVisible) return false;
      const detail = this.asked;
      this.asked = null;
      panel.dispatchEvent(new CustomEvent("lmc:about-cell", { detail }));
      return true;
    };
    if (go()) return;
    const drawn = new MutationObserver(() => {
      if (go()) drawn.disconnect();
    });
    drawn.observe(view.node, { childList: true, subtree: true, attributeFilter: ["data-ready"] });
  }

  /** Whatever is awaited is outdated by this. */
  private interrupt(by: () => void): void {
    ++this.generation;
    by();
  }

  private drop(followed: Followed): void {
    followed.view?.dispose();
    followed.view = null;
  }

  /** Drop a notebook's view when its kernel begins anew, whoever made it do so. */
  private watch(notebook: NotebookPanel): void {
    const entry: Followed = { kernel: "", view: null, due: false, session: "", gone: "" };
    this.followed.set(notebook, entry);
    const { sessionContext } = notebook;
    const current = () => notebook === this.notebook;
    const up = () => {
      if (!entry.due) return;
      entry.due = false;
      if (current()) void this.refresh();
    };
    const restarts = () => {
      this.drop(entry);
      entry.due = true;
      if (current()) this.interrupt(() => this.wait(this.trans.__("The kernel is restarting…")));
    };
    // Of a restart that was made outside of it JupyterLab may hear nothing but the old kernel's
    // good-bye: whoever comes after it is asked until an answer comes in another name.
    const restartsOutside = async (gone: string) => {
      restarts();
      entry.gone = gone;
      while (entry.due && !notebook.isDisposed) {
        const kernel = sessionContext.session?.kernel;
        if (!kernel || kernel.status === "dead") return;
        const patience = new Promise<null>((done) => setTimeout(done, ASK_AGAIN_MS, null));
        const answer = await Promise.race([kernel.requestKernelInfo().catch(() => patience), patience]);
        if (answer && answer.header.session !== gone) return up();
        if (answer) await patience;
      }
    };
    sessionContext.iopubMessage.connect((_, message) => {
      const { msg_type: type, session } = message.header as { msg_type: string; session: string };
      if (type === "shutdown_reply") {
        const { restart } = message.content as { restart?: unknown };
        if (restart === true && entry.view !== null) void restartsOutside(session);
      } else if (type === "status") {
        const { execution_state: state } = message.content as { execution_state?: unknown };
        if (state !== "busy" && state !== "idle") return; // the server may say it, in its own name
        const before = entry.session;
        entry.session = session;
        if (before && before !== session && entry.view !== null) void restartsOutside(before);
      }
    });
    sessionContext.statusChanged.connect((_, status) => {
      if (status === "starting" && entry.view !== null) {
        void restartsOutside(entry.session);
      } else if (status === "restarting" || status === "autorestarting") {
        entry.gone = "";
        restarts();
      } else if (status === "dead" || status === "terminating") {
        this.drop(entry);
        entry.due = true;
        const say = () => this.say(this.trans.__("The kernel has ended. Restart it to continue here."));
        if (current()) this.interrupt(say);
      } else if (status === "idle") {
        if (!entry.gone || entry.gone !== entry.session) up();
      }
    });
    sessionContext.kernelChanged.connect(() => {
      this.drop(entry);
      if (!current()) return;
      this.blank();
      void this.refresh();
    });
    notebook.disposed.connect(() => {
      this.drop(entry);
      this.followed.delete(notebook);
      if (current()) this.follow(null);
    });
  }

  private readonly message = document.createElement("div");
  private readonly followed = new Map<NotebookPanel, Followed>();
  /** Whatever was awaited under an older number is outdated. */
  private silence: ReturnType<typeof setTimeout> | undefined = undefined;
  private generation = 0;
  private wantsCard = false;
  /** What goes to the panel when it is here. */
  private asked: AboutCell | null = null;
  /** Whether the panel is missing for a reason that a cell may have removed. */
  private wanting = false;
}

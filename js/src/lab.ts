/**
 * The sidebar of JupyterLab and Notebook 7: the chat with the notebook that is in front.
 *
 * One rule: glue only. It finds the kernel, asks it for its panel and shows that widget. What is on
 * the panel is drawn by `panel.tsx`; no conversation is kept here, and while it is not sure whose
 * panel to show, it shows none.
 */

import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { MimeModel } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { ITranslator, nullTranslator, type TranslationBundle } from "@jupyterlab/translation";
import { LabIcon } from "@jupyterlab/ui-components";
import { PanelLayout, SplitPanel, Widget } from "@lumino/widgets";

import { asCell } from "./cell";

const PLUGIN = "lmc-jupyter:panel";
const TOGGLE = "lmc:toggle";
const VIEW = "application/vnd.jupyter.widget-view+json";
const ASK_AGAIN_MS = 1_000;
const INSTALL = "%pip install lmc-jupyter";
const PATIENCE_MS = 1_000;
const WIDENED = "lmc:widened";
const WIDE_PX = 460;
const WIDEST = 0.4; // of the window
const UPGRADE = "%pip install --upgrade lmc-jupyter";

/** A speech balloon with a prompt in it. */
const icon = new LabIcon({
  name: "lmc-jupyter:chat",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3 jp-icon-selectable" fill="#616161" fill-rule="evenodd" d="M5 3h14a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3h-7l-5 4v-4H5a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zM7.2 6.4 5.8 7.8l2.7 2.7-2.7 2.7 1.4 1.4 4.1-4.1zM12 12.6v2h6v-2z"/>
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

/** What the kernel answered: its panel, or why there is none. */
type Answer =
  | { kind: "panel"; model: string }
  | { kind: "missing" }
  | { kind: "old" }
  | { kind: "again" }
  | { kind: "error"; text: string };

class Sidebar extends Widget {
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

  /** Show this notebook's panel; until it is there, nobody can write into another one's. */
  follow(notebook: NotebookPanel | null): void {
    if (notebook === this.notebook && notebook !== null) return;
    this.notebook = notebook;
    this.blank();
    if (notebook !== null && !this.followed.has(notebook)) this.watch(notebook);
    void this.refresh();
  }

  /** Ask again, e.g. after a cell that may have installed the package. */
  cellExecuted(notebook: Widget): void {
    if (notebook === this.notebook?.content && this.wanting) void this.refresh(true);
  }

  /** Insert code below the active cell of a notebook; false where that cannot be. */
  insert(notebook: NotebookPanel | null, code: string, language: string): boolean {
    if (notebook === null || notebook.content.model?.readOnly !== false) return false;
    const { type, source } = asCell(code, language);
    NotebookActions.insertBelow(notebook.content);
    if (type !== "code") NotebookActions.changeCellType(notebook.content, type);
    notebook.content.activeCell?.model.sharedModel.setSource(source);
    return true;
  }

  /** Bring the question that waits in a cell of the notebook into sight; false where there is none. */
  showQuestion(): boolean {
    const card = this.notebook?.content.node.querySelector<HTMLElement>("[data-proposal]");
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
    return card !== null && card !== undefined;
  }

  protected override onAfterShow(): void {
    void this.refresh();
    requestAnimationFrame(() => this.widen());
  }

  /** The first time in a browser: as wide as code needs. Then it is as wide as the person makes it. */
  private widen(): void {
    if (this.isDisposed || !this.isVisible || localStorage.getItem(WIDENED) !== null) return;
    let area: Widget | null = this.parent;
    while (area !== null && !(area.parent instanceof SplitPanel)) area = area.parent;
    const split = area?.parent;
    if (!area || !(split instanceof SplitPanel)) return;
    const sizes = split.relativeSizes();
    const at = split.widgets.indexOf(area);
    const widest = sizes.indexOf(Math.max(...sizes));
    const more = Math.min(WIDE_PX / split.node.clientWidth, WIDEST) - (sizes[at] ?? 0);
    localStorage.setItem(WIDENED, "yes");
    if (more <= 0 || widest === at) return;
    split.setRelativeSizes(sizes.map((size, n) => size + (n === at ? more : n === widest ? -more : 0)));
  }

  /** Focus the composer, or be ready to hand the focus on to it. */
  protected override onActivateRequest(): void {
    if (!this.focusComposer()) this.node.focus();
  }

  private focusComposer(): boolean {
    const all = this.node.querySelectorAll<HTMLElement>("textarea:not([disabled])");
    const composer = [...all].find((each) => each.checkVisibility());
    composer?.focus();
    return composer !== undefined;
  }

  private async refresh(again = false): Promise<void> {
    const { notebook, trans } = this;
    const generation = ++this.generation;
    const outdated = () => generation !== this.generation || notebook !== this.notebook;
    if (notebook === null) {
      return this.say(trans.__("Open a notebook to chat here with a model that works in its kernel."));
    }
    if (!this.isVisible) return;
    const followed = this.followed.get(notebook);
    if (followed === undefined) return;
    if (followed.view === null) this.wait(trans.__("Connecting to the kernel…"));
    try {
      await notebook.sessionContext.ready;
      if (outdated()) return;
      const kernel = notebook.sessionContext.session?.kernel;
      if (!kernel) {
        return this.say(
          trans.__("This notebook has no kernel. Choose one, and the chat opens here."),
        );
      }
      if (followed.view !== null && followed.kernel === kernel.id && !followed.view.isDisposed) {
        return this.show_(followed.view);
      }
      this.drop(followed);
      followed.kernel = kernel.id;
      if (kernel.status === "busy") this.wait(trans.__("The chat opens when the running cell has finished."));
      const { language_info: language } = await kernel.info;
      if (outdated()) return;
      if (language.name !== "python") {
        return this.say(
          trans.__("The chat works in Python kernels; this notebook's runs %1.", language.name),
        );
      }
      if (kernel.status === "busy" && !kernel.supportsSubshells) {
        followed.due = true;
        return this.wait(trans.__("The chat opens when the running cell has finished."));
      }
      if (kernel.status !== "busy") this.wait(trans.__("Opening the chat…"));
      const answer = await ask(kernel, again);
      if (outdated()) return;
      if (answer.kind === "again") {
        await kernel.requestKernelInfo();
        if (!outdated()) await this.refresh(again);
        return;
      }
      if (answer.kind !== "panel") return this.explain(answer);
      const view = notebook.content.rendermime.createRenderer(VIEW);
      const data = { [VIEW]: { model_id: answer.model, version_major: 2, version_minor: 0 } };
      await view.renderModel(new MimeModel({ data, trusted: true }));
      if (outdated()) return view.dispose();
      followed.view = view;
      this.show_(view);
    } catch (error) {
      if (!outdated()) this.explain({ kind: "error", text: String(error) });
    }
  }

  /** Say why the kernel gave no panel, and what to do. */
  private explain(answer: Exclude<Answer, { kind: "panel" | "again" }>): void {
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
    } else {
      this.say(trans.__("The chat could not be opened. %1", answer.text));
    }
    this.wanting = true;
    const retry = document.createElement("button");
    retry.className = "jp-Button jp-mod-styled jp-mod-accept";
    retry.textContent = trans.__("Try again");
    retry.addEventListener("click", () => void this.refresh(true));
    this.message.append(retry);
  }

  private say(text: string, code = ""): void {
    this.put("message", text);
    if (code === "") return;
    const pre = document.createElement("pre");
    pre.textContent = code;
    this.message.append(pre);
  }

  private wait(text: string): void {
    this.put("waiting", text);
  }

  private blank(): void {
    this.put("blank", "");
  }

  private put(state: "blank" | "waiting" | "ready" | "message", text: string): void {
    this.wanting = false;
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
    const mine = () => document.activeElement === this.node;
    if (!mine() || this.focusComposer()) return;
    const drawn = new MutationObserver(() => {
      if (!mine() || this.focusComposer()) drawn.disconnect();
    });
    drawn.observe(view.node, { childList: true, subtree: true });
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
    const followed: Followed = { kernel: "", view: null, due: false, session: "", gone: "" };
    this.followed.set(notebook, followed);
    const { sessionContext } = notebook;
    const current = () => notebook === this.notebook;
    const up = () => {
      if (!followed.due) return;
      followed.due = false;
      if (current()) void this.refresh();
    };
    const restarts = () => {
      this.drop(followed);
      followed.due = true;
      if (current()) this.interrupt(() => this.wait(this.trans.__("The kernel is restarting…")));
    };
    // Of a restart that was made outside of it JupyterLab may hear nothing but the old kernel's
    // good-bye: whoever comes after it is asked until an answer comes in another name.
    const restartsOutside = async (gone: string) => {
      restarts();
      followed.gone = gone;
      while (followed.due && !notebook.isDisposed) {
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
        if (restart === true && followed.view !== null) void restartsOutside(session);
      } else if (type === "status") {
        const { execution_state: state } = message.content as { execution_state?: unknown };
        if (state !== "busy" && state !== "idle") return; // the server may say it, in its own name
        const before = followed.session;
        followed.session = session;
        if (before && before !== session && followed.view !== null) void restartsOutside(before);
      }
    });
    sessionContext.statusChanged.connect((_, status) => {
      if (status === "starting" && followed.view !== null) {
        void restartsOutside(followed.session);
      } else if (status === "restarting" || status === "autorestarting") {
        followed.gone = "";
        restarts();
      } else if (status === "dead" || status === "terminating") {
        this.drop(followed);
        followed.due = true;
        const say = () => this.say(this.trans.__("The kernel has ended. Restart it to continue here."));
        if (current()) this.interrupt(say);
      } else if (status === "idle") {
        if (!followed.gone || followed.gone !== followed.session) up();
      }
    });
    sessionContext.kernelChanged.connect(() => {
      this.drop(followed);
      if (!current()) return;
      this.blank();
      void this.refresh();
    });
    notebook.disposed.connect(() => {
      this.drop(followed);
      this.followed.delete(notebook);
      if (current()) this.follow(null);
    });
  }

  private readonly message = document.createElement("div");
  private readonly followed = new Map<NotebookPanel, Followed>();
  /** Whatever was awaited under an older number is outdated. */
  private generation = 0;
  /** Whether the panel is missing for a reason that a cell may have removed. */
  private wanting = false;
}

/**
 * Ask the kernel for its panel; while a cell runs, on a subshell where there are such.
 *
 * The status is not to be relied on: every message that is handled meanwhile ends with "idle". So
 * a subshell is asked as well when there is no answer for a while; the kernel has one panel.
 */
async function ask(kernel: Kernel.IKernelConnection, again: boolean): Promise<Answer> {
  if (!kernel.supportsSubshells) return askOn(kernel, null, again);
  if (kernel.status === "busy") return askSubshell(kernel, again);
  const main = askOn(kernel, null, again);
  let timer: number | undefined;
  const beside = new Promise<Answer>((resolve, reject) => {
    timer = window.setTimeout(() => askSubshell(kernel, again).then(resolve, reject), PATIENCE_MS);
  });
  try {
    return await Promise.race([main, beside]);
  } finally {
    window.clearTimeout(timer);
    main.catch(() => undefined); // the other one has answered; this may be cut off by a restart
    beside.catch(() => undefined);
  }
}

/** On a subshell of its own, which then stays: the panel's messages may go there. */
async function askSubshell(kernel: Kernel.IKernelConnection, again: boolean): Promise<Answer> {
  const made = (await kernel.requestCreateSubshell({}).done).content;
  return askOn(kernel, made.subshell_id ?? null, again);
}

/** By an empty execution: no history, no name, no output. */
async function askOn(
  kernel: Kernel.IKernelConnection,
  subshell: string | null,
  again: boolean,
): Promise<Answer> {
  const fresh = again ? "__import__('importlib').invalidate_caches() or " : "";
  const before = kernel.subshellId;
  kernel.subshellId = subshell; // the request is made of it at once
  const future = kernel.requestExecute({
    code: "",
    silent: true,
    store_history: false,
    allow_stdin: false,
    user_expressions: { panel: `${fresh}__import__('lmc_jupyter').panel_model_id()` },
  });
  kernel.subshellId = before;
  const reply = (await future.done).content;
  if (reply.status !== "ok") return { kind: "again" }; // aborted, by an error before it
  const value = reply.user_expressions.panel as {
    status?: string;
    ename?: string;
    evalue?: string;
    data?: { "text/plain"?: string };
  };
  const model = /^'([\w-]+)'$/.exec(value.data?.["text/plain"] ?? "")?.[1];
  if (model !== undefined) return { kind: "panel", model };
  const { ename = "", evalue = "" } = value;
  if (ename === "ModuleNotFoundError" && evalue.includes("'lmc_jupyter'")) {
    return { kind: "missing" };
  }
  if (ename === "AttributeError" && evalue.includes("panel_model_id")) return { kind: "old" };
  return { kind: "error", text: `${ename}: ${evalue}` };
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: "Chat with a language model whose code runs in the notebook's kernel.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ILabShell, ICommandPalette, ILayoutRestorer, ITranslator, ISettingRegistry],
  activate: async (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    labShell: ILabShell | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    registry: ISettingRegistry | null,
  ): Promise<void> => {
    const trans = (translator ?? nullTranslator).load("lmc_jupyter");
    const sidebar = new Sidebar(trans);
    const settings = await registry?.load(PLUGIN).catch((error: unknown) => {
      console.warn("The settings of the LMC chat could not be read.", error);
      return undefined;
    });
    const area = () => (settings?.get("area").composite === "left" ? "left" : "right");
    let side = area();
    const place = () => app.shell.add(sidebar, side, { rank: 900, type: "LMC chat" });
    place();
    restorer?.add(sidebar, sidebar.id);
    settings?.changed.connect(() => {
      if (area() === side) return;
      side = area();
      place();
    });

    tracker.currentChanged.connect((_, notebook) => sidebar.follow(notebook));
    sidebar.follow(tracker.currentWidget);
    NotebookActions.executed.connect((_, { notebook }) => sidebar.cellExecuted(notebook));

    // from the panel here, or from one in a cell's output
    app.shell.node.addEventListener("lmc:insert-cell", (event) => {
      const { target } = event;
      const { code, language } = (event as CustomEvent<{ code?: unknown; language?: unknown }>).detail;
      if (typeof code !== "string" || !(target instanceof Node)) return;
      const notebook = sidebar.node.contains(target)
        ? sidebar.notebook
        : (tracker.find((each) => each.node.contains(target)) ?? null);
      const inserted = sidebar.insert(notebook, code, typeof language === "string" ? language : "");
      if (inserted) event.preventDefault(); // so that the widget need not copy it instead
    });

    // a question that waits in a cell, of whatever notebook the panel follows
    app.shell.node.addEventListener("lmc:show-question", (event) => {
      if (sidebar.showQuestion()) event.preventDefault();
    });

    app.commands.addCommand(TOGGLE, {
      label: trans.__("LMC: show or hide the chat"),
      caption: trans.__("Chat with a model that works in this notebook's kernel"),
      icon,
      isToggled: () => sidebar.isVisible,
      describedBy: { args: { type: "object", properties: {} } },
      execute: () => {
        const shell: Partial<Pick<ILabShell, "collapseLeft" | "collapseRight">> =
          labShell ?? (app.shell as object); // Notebook 7 has these two as well
        if (!sidebar.isVisible) app.shell.activateById(sidebar.id);
        else if (side === "left") shell.collapseLeft?.();
        else shell.collapseRight?.();
      },
    });
    palette?.addItem({ command: TOGGLE, category: "LMC" });
  },
};

export default plugin;

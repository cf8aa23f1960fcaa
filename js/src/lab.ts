/**
 * The extension of JupyterLab and Notebook 7: the sidebar, its commands and settings, and the
 * buttons at cells that ask there.
 *
 * One rule: glue only. What is on the panel is drawn by `panel.tsx`, and whose panel it is finds
 * `lab/sidebar.ts`.
 */

import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette, Notification } from "@jupyterlab/apputils";
import { INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";

import { Agents } from "./lab/agents";
import { asksModel, shownCell } from "./lab/cells";
import { documentOf, hide } from "./lab/document";
import { addHints } from "./lab/exercise";
import { drawQuestionsPlain } from "./lab/language";
import { addProposals } from "./lab/proposal";
import { replace } from "./lab/replace";
import { prepare } from "./lab/running";
import { drawSaved } from "./lab/saved";
import { icon, Sidebar } from "./lab/sidebar";
import { addButtons } from "./lab/traceback";
import { showQuestion, watchQuestions } from "./lab/waiting";
import type { Asked } from "./panel/document";
import type { AboutCell, InsertCell, ReplaceCell } from "./protocol";

const PLUGIN = "lmc-jupyter:panel";
const TOGGLE = "lmc:toggle";
const ASK = "lmc:ask";

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: "Chat with a language model whose code runs in the notebook's kernel.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ILabShell, ICommandPalette, ILayoutRestorer, ITranslator, ISettingRegistry, IRenderMimeRegistry],
  activate: async (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    labShell: ILabShell | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    registry: ISettingRegistry | null,
    rendermime: IRenderMimeRegistry | null,
  ): Promise<void> => {
    const trans = (translator ?? nullTranslator).load("lmc_jupyter");
    const sidebar = new Sidebar(trans);
    const ask = (detail: AboutCell) => {
      sidebar.ask(detail);
      app.shell.activateById(sidebar.id);
    };
    const prepareNotebook = (notebook: NotebookPanel) => {
      drawQuestionsPlain(notebook);
      drawSaved(notebook.content.rendermime);
      addHints(notebook, trans, ask);
    };
    tracker.widgetAdded.connect((_, notebook) => prepareNotebook(notebook));
    tracker.forEach(prepareNotebook);
    // at once: a notebook takes over what draws its outputs when it opens
    if (rendermime) addButtons(rendermime, { tracker, trans, ask: (wish, cell) => ask({ wish, cell }) });
    if (rendermime) addProposals(rendermime, { trans, take: (proposal, wish) => ask({ wish, proposal }) });
    const agents = new Agents({
      tracker,
      notifications: Notification,
      trans,
      isInSight: (notebook) => sidebar.shows(notebook),
      activate: ({ id }) => app.shell.activateById(id),
      showCard: async (notebook) => {
        if (app.shell.currentWidget !== notebook) {
          app.shell.activateById(notebook.id);
          // it takes the focus in the second frame from now, for its cells
          for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
        }
        sidebar.wantCard();
        app.shell.activateById(sidebar.id);
      },
    });
    sidebar.onPanel = (notebook) => agents.seen(notebook);
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

    // back to the active cell: by Escape, and by the keys that led into the panel
    const leave = () => sidebar.notebook && app.shell.activateById(sidebar.notebook.id);
    sidebar.node.addEventListener("lmc:leave", leave);
    sidebar.node.addEventListener("keydown", (event) => {
      // the panel keeps JupyterLab's keys away from itself, also these
      if (event.code !== "KeyL" || !event.altKey || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      event.stopPropagation();
      leave();
    });

    const documentChanged = () => sidebar.tell("lmc:document-changed");
    tracker.activeCellChanged.connect(documentChanged);
    sidebar.node.addEventListener("lmc:document", (event) => {
      (event as CustomEvent<Asked>).detail.document = documentOf(sidebar.notebook);
    });
    sidebar.node.addEventListener("lmc:hide-cell", (event) => {
      const { id } = (event as CustomEvent<{ id: string }>).detail;
      if (hide(sidebar.notebook, id)) event.preventDefault();
    });
    tracker.currentChanged.connect((_, notebook) => sidebar.follow(notebook));
    sidebar.follow(tracker.currentWidget);
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      if (!panel) return;
      prepare(panel, cell);
      if (asksModel(cell.model.sharedModel.getSource())) watchQuestions(panel, cell, trans);
    });
    NotebookActions.executed.connect((_, { notebook }) => sidebar.cellExecuted(notebook));

    // from the panel here, or from one in a cell's output
    const notebookOf = ({ target }: Event) => {
      if (!(target instanceof Node)) return null;
      if (sidebar.node.contains(target)) return sidebar.notebook;
      return tracker.find((each) => each.node.contains(target)) ?? null;
    };
    app.shell.node.addEventListener("lmc:insert-cell", (event) => {
      const isInserted = sidebar.insert(notebookOf(event), (event as CustomEvent<InsertCell>).detail);
      if (isInserted) event.preventDefault(); // so that the widget need not copy it instead
    });
    app.shell.node.addEventListener("lmc:replace-cell", (event) => {
      const isShown = replace(notebookOf(event), (event as CustomEvent<ReplaceCell>).detail, trans);
      if (isShown) event.preventDefault();
    });

    // a question that waits in a cell, of whatever notebook the panel follows
    app.shell.node.addEventListener("lmc:show-question", (event) => {
      if (sidebar.notebook && showQuestion(sidebar.notebook)) event.preventDefault();
    });

    app.commands.addCommand(TOGGLE, {
      label: ({ go }) => (go ? trans.__("LMC: go to the chat") : trans.__("LMC: show or hide the chat")),
      caption: trans.__("Chat with a model that works in this notebook's kernel"),
      icon,
      isToggled: () => sidebar.isVisible,
      describedBy: { args: { type: "object", properties: { go: { type: "boolean" } } } },
      // by its keys a person who is in the notebook goes to the chat, also where it is shown
      execute: ({ go }) => {
        const shell: Partial<Pick<ILabShell, "collapseLeft" | "collapseRight">> =
          labShell ?? (app.shell as object); // Notebook 7 has these two as well
        if (go || !sidebar.isVisible) app.shell.activateById(sidebar.id);
        else if (side === "left") shell.collapseLeft?.();
        else shell.collapseRight?.();
      },
    });
    app.commands.addCommand(ASK, {
      label: trans.__("LMC: ask about this cell"),
      caption: trans.__("Ask the model about this cell"),
      icon,
      isEnabled: () => tracker.activeCell !== null,
      isVisible: () => tracker.activeCell?.model.type === "code",
      describedBy: { args: { type: "object", properties: {} } },
      execute: () => {
        const cell = tracker.activeCell;
        if (cell) ask({ wish: "ask", cell: shownCell(cell) });
      },
    });
    for (const command of [TOGGLE, ASK]) palette?.addItem({ command, category: "LMC" });
    palette?.addItem({ command: TOGGLE, category: "LMC", args: { go: true } });
  },
};

export default plugin;

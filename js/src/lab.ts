/**
 * The extension of JupyterLab and Notebook 7: the sidebar, its command and its settings.
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
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker, NotebookActions } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";

import { icon, Sidebar } from "./lab/sidebar";

const PLUGIN = "lmc-jupyter:panel";
const TOGGLE = "lmc:toggle";

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
      const isInserted = sidebar.insert(notebook, code, typeof language === "string" ? language : "");
      if (isInserted) event.preventDefault(); // so that the widget need not copy it instead
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

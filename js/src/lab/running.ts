/**
 * What a cell that asks needs of the document: the Markdown above it, as it stands on the screen.
 *
 * One rule: it is said to the kernel right before the cell runs, on the same channel, so that it is
 * there in time; only for a cell that asks, and only by a kernel that the cell has loaded us in.
 */

import type { Cell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";

import { asksModel } from "./cells";
import { markdownAbove } from "./document";

/** See `lmc_jupyter/kernel/document.py`. */
const TARGET = "lmc-jupyter:document";

export function sayAbove(notebook: NotebookPanel, cell: Cell): void {
  const kernel = notebook.sessionContext.session?.kernel;
  if (!kernel?.handleComms || !asksModel(cell.model.sharedModel.getSource())) return;
  const comm = kernel.createComm(TARGET);
  comm.open({ cell: cell.model.id, above: markdownAbove(notebook.content.widgets, cell) });
}

/**
 * What a cell needs of the document as it stands on the screen: one that asks, the Markdown above
 * it and the places of the cells; one with `%lmc check`, that it is saved.
 *
 * One rule: it is said to the kernel right before the cell runs, on the same channel, so that it is
 * there in time; only for such a cell, and only by a kernel that the cell has loaded us in.
 */

import type { Cell, ICodeCellModel } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";

import { asksModel } from "./cells";
import { markdownAbove, outlineOf } from "./document";

/** See `lmc_jupyter/kernel/document.py`. */
const TARGET = "lmc-jupyter:document";

/** A line that runs this notebook again, and not a file that it names. */
const CHECK = /^[ \t]*%lmc[ \t]+check[ \t]*(--.*)?$/m;

export function prepare(notebook: NotebookPanel, cell: Cell): void {
  const kernel = notebook.sessionContext.session?.kernel;
  if (!kernel?.handleComms) return;
  const source = cell.model.sharedModel.getSource();
  if (asksModel(source)) {
    trust(cell.model as ICodeCellModel);
    const above = markdownAbove(notebook.content.widgets, cell);
    const outline = outlineOf(notebook.content.widgets);
    kernel.createComm(TARGET).open({ cell: cell.model.id, above, outline });
  } else if (CHECK.test(source) && notebook.context.model.dirty) {
    const { context } = notebook;
    kernel.createComm(TARGET).open({ saved: context.contentsModel?.last_modified ?? "" });
    // JupyterLab says what went wrong, and the kernel that the file is older than the screen
    if (!context.model.readOnly) context.save().catch(() => undefined);
  }
}

/**
 * Trust what the cell is about to put out, as JupyterLab does with a cell that a person runs.
 *
 * Where a server runs it, as Jupyter AI's does, nobody else does so, and no widget would be drawn.
 * What stood there before is not of this run: it goes first.
 */
function trust(model: ICodeCellModel): void {
  if (model.trusted) return;
  model.clearExecution();
  model.trusted = true;
}

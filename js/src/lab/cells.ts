/**
 * Cells of a notebook, as the panel asks about them.
 *
 * One rule: they are read, and nothing changes.
 */

import type { Cell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";

import type { ShownCell } from "../protocol";
import { isHidden } from "./document";

/** A cell as it stands in the notebook; `error` is the traceback of its output. */
export function shownCell(cell: Cell, error = ""): ShownCell {
  const { id, sharedModel } = cell.model;
  return {
    id,
    number: "execution_count" in sharedModel ? (sharedModel.execution_count as number | null) : null,
    source: sharedModel.getSource(),
    error,
    hidden: isHidden(cell),
  };
}

/** The cell of a notebook in which this node stands. */
export function cellOf(notebook: NotebookPanel, node: Node): Cell | undefined {
  return notebook.content.widgets.find((cell) => cell.node.contains(node));
}

/** Whether this is the text of a cell whose text is a question. */
export function asksModel(source: string): boolean {
  return /^\s*%%lmc\b/.test(source);
}

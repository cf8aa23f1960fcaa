/**
 * The notebook's document for the panel at its side: what is selected, what stands above, what is
 * hidden.
 *
 * One rule: it is read when the panel asks, and only the tag `lmc-hide` is ever written, when a
 * person hides a cell.
 */

import type { Cell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";

import type { Document, Outline } from "../protocol";

const HIDE = "lmc-hide";
const MOST_CELLS = 500;
const MOST = 20_000; // characters of a text: the kernel shortens it further

/** As the panel gets it with a question; null where there is no notebook. */
export function documentOf(notebook: NotebookPanel | null): Document | null {
  const cells = notebook?.content.widgets;
  const at = notebook?.content.activeCellIndex ?? -1;
  const cell = cells?.[at];
  if (!cells || !cell) return null;
  const own = cell.model.type === "markdown" && !isHidden(cell) ? sourceOf(cell).trim() : "";
  const above = [markdownAbove(cells, cell), own].filter(Boolean).join("\n\n");
  return {
    selected: {
      id: cell.model.id,
      source: cell.model.type === "code" ? sourceOf(cell).slice(0, MOST) : "",
      text: isHidden(cell) ? "" : selectionOf(cell).slice(0, MOST),
    },
    above: above.slice(-MOST),
    hidden: cells.filter(isHidden).map(({ model }) => model.id),
    outline: outlineOf(cells),
  };
}

/** Where each cell stands, without headings that no model gets. */
export function outlineOf(cells: readonly Cell[]): Outline {
  if (cells.length > MOST_CELLS) return [];
  return cells.map((cell) => {
    const hasHeadings = cell.model.type === "markdown" && !isHidden(cell);
    return [cell.model.id, hasHeadings ? headingsIn(sourceOf(cell)) : ""];
  });
}

/** The lines of Markdown that are headings. */
function headingsIn(source: string): string {
  const words = source.replace(/^(```|~~~)[^]*?^\1/gm, "");
  return (words.match(/^#{1,6}[ \t].{1,100}/gm) ?? []).slice(0, 20).join("\n");
}

/** The Markdown cells directly above a cell, without those that no model gets. */
export function markdownAbove(cells: readonly Cell[], cell: Cell): string {
  const texts: string[] = [];
  for (let at = cells.indexOf(cell) - 1; cells[at]?.model.type === "markdown"; at -= 1) {
    const above = cells[at];
    if (above && !isHidden(above)) texts.unshift(above.model.sharedModel.getSource().trim());
  }
  return texts.join("\n\n");
}

/** Give the cell of this id the tag; false where it is not in this notebook. */
export function hide(notebook: NotebookPanel | null, id: string): boolean {
  const cell = notebook?.content.widgets.find(({ model }) => model.id === id);
  if (!cell || notebook?.content.model?.readOnly !== false) return false;
  if (!isHidden(cell)) cell.model.setMetadata("tags", [...tagsOf(cell), HIDE]);
  return true;
}

/** The tags of a cell, as they stand in the notebook. */
export function tagsOf({ model }: Cell): unknown[] {
  const tags: unknown = model.getMetadata("tags");
  return Array.isArray(tags) ? tags : [];
}

/** Whether no model gets it. */
export function isHidden(cell: Cell): boolean {
  return tagsOf(cell).includes(HIDE);
}

function sourceOf({ model }: Cell): string {
  return model.sharedModel.getSource();
}

function selectionOf({ editor }: Cell): string {
  if (!editor) return "";
  const { start, end } = editor.getSelection();
  const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((a, b) => a - b);
  return editor.model.sharedModel.getSource().slice(from, to);
}

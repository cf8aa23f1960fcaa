/**
 * A question in the output of a cell: it comes into sight where its cell is in sight; else a pill at
 * the edge of the notebook leads there.
 *
 * One rule: who is elsewhere, or writes in another cell, is moved by nobody but themselves.
 */

import type { Cell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { TranslationBundle } from "@jupyterlab/translation";

/** A question that somebody can still answer. */
const CARD = "[data-proposal]:not(:has(> .lmc-ask[hidden]))";

const DRAWN_MS = 500;

const watched = new WeakSet<Cell>();

/** From now on, as long as the cell is there. It may be out of the page: its own node is watched. */
export function watchQuestions(notebook: NotebookPanel, cell: Cell, trans: TranslationBundle): void {
  if (watched.has(cell)) return;
  watched.add(cell);
  const pill = document.createElement("button");
  pill.type = "button";
  pill.className = "lmc-waits";
  pill.addEventListener("click", () => showQuestion(notebook));
  let card: HTMLElement | null = null;
  let proposal: string | undefined;
  const sight = new IntersectionObserver(([entry]) => {
    if (card === null || entry === undefined) return;
    if (entry.isIntersecting) return pill.remove();
    const isAbove = standsAbove(notebook, cell, card);
    pill.dataset.edge = isAbove ? "top" : "bottom";
    pill.textContent = `${trans.__("A cell waits for your decision")} ${isAbove ? "↑" : "↓"}`;
    notebook.content.node.append(pill);
  });
  const drawn = new MutationObserver(() => {
    card = cell.node.querySelector<HTMLElement>(CARD);
    if (card?.dataset.proposal === proposal) return;
    proposal = card?.dataset.proposal;
    sight.disconnect();
    if (card === null) return pill.remove();
    if (isAt(notebook, cell)) bringIntoSight(card);
    sight.observe(card);
  });
  drawn.observe(cell.node, { childList: true, subtree: true, attributeFilter: ["hidden", "data-proposal"] });
  cell.disposed.connect(() => {
    drawn.disconnect();
    sight.disconnect();
    pill.remove();
  });
}

/** As far as it must be moved for that; it may grow a line or two as it is drawn. */
function bringIntoSight(card: HTMLElement): void {
  const grows = new ResizeObserver(() => card.scrollIntoView({ block: "nearest" }));
  grows.observe(card);
  setTimeout(() => grows.disconnect(), DRAWN_MS);
}

/** Bring the question that waits in a cell of the notebook into sight; false where there is none. */
export function showQuestion(notebook: NotebookPanel): boolean {
  const { content } = notebook;
  const at = content.widgets.findIndex(({ node }) => node.querySelector(CARD) !== null);
  const card = content.widgets[at]?.node.querySelector<HTMLElement>(CARD);
  if (!card) return false;
  const show = () => {
    card.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  };
  content.scrollToItem(at, "smart").then(show, show); // a cell out of the page is drawn first
  return true;
}

/** Whether the person looks at this cell, and writes in no other. */
function isAt(notebook: NotebookPanel, cell: Cell): boolean {
  const view = notebook.content.outerNode.getBoundingClientRect();
  const { top, bottom } = cell.node.getBoundingClientRect();
  const active = document.activeElement;
  const own = active?.closest(".jp-Cell");
  const writes = active?.matches("input, textarea, .cm-content") && own !== null && own !== cell.node;
  return bottom > view.top && top < view.bottom && !writes;
}

/** Whether the way to this card goes up; one of a cell that is not drawn has no place. */
function standsAbove({ content }: NotebookPanel, cell: Cell, card: HTMLElement): boolean {
  if (card.checkVisibility()) return topOf(card) < topOf(content.outerNode);
  return content.widgets.indexOf(cell) < content.widgets.findIndex(({ inViewport }) => inViewport);
}

const topOf = (node: HTMLElement) => node.getBoundingClientRect().top;

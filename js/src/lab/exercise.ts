/**
 * The line "What did you expect?" and the buttons Hint and Run the tests below the cell of an
 * exercise, which has the tag `lmc-exercise: ID`.
 *
 * One rule: they say to the panel what a person could type; which hint comes the kernel decides.
 */

import type { Cell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { TranslationBundle } from "@jupyterlab/translation";

import type { AboutCell } from "../protocol";
import { tagsOf } from "./document";

const TAG = "lmc-exercise:";
const ROW = "lmc-exercise-row";

/** The id of the exercise that this cell is; "" for none. */
export function exerciseOf(cell: Cell): string {
  const tag = tagsOf(cell).find((each): each is string => typeof each === "string" && each.startsWith(TAG));
  return tag?.slice(TAG.length).trim() ?? "";
}

/** From now on each exercise of this notebook has the buttons. */
export function addHints(notebook: NotebookPanel, trans: TranslationBundle, ask: (about: AboutCell) => void): void {
  const watched = new WeakSet<Cell>();
  const draw = async (cell: Cell) => {
    await cell.ready; // a cell that was never in view has no place for them
    if (cell.isDisposed) return;
    const exercise = exerciseOf(cell);
    const before = cell.node.querySelector<HTMLElement>(`.${ROW}`);
    if (before?.dataset.exercise === exercise) return;
    before?.remove();
    if (exercise) cell.node.querySelector(".jp-Cell-inputWrapper")?.after(row(exercise, trans, ask));
  };
  const drawAll = () => {
    for (const cell of notebook.content.widgets) {
      if (!watched.has(cell)) {
        watched.add(cell);
        cell.model.metadataChanged.connect(() => void draw(cell));
      }
      void draw(cell);
    }
  };
  void notebook.context.ready.then(() => {
    if (notebook.isDisposed) return;
    drawAll();
    notebook.content.model?.cells.changed.connect(drawAll);
  });
}

function row(exercise: string, trans: TranslationBundle, ask: (about: AboutCell) => void): HTMLElement {
  const node = document.createElement("div");
  node.className = ROW;
  node.dataset.exercise = exercise;
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", trans.__("Exercise %1", exercise));
  node.dataset.lmSuppressShortcuts = "true"; // Enter presses the button, and edits no cell
  const expected = document.createElement("input");
  expected.type = "text";
  expected.className = "lmc-exercise-expected";
  expected.placeholder = trans.__("What did you expect?");
  expected.setAttribute("aria-label", expected.placeholder);
  expected.title = trans.__("It goes along with Hint, and may stay empty");
  expected.maxLength = 500; // characters that the kernel notes
  const hint = () => {
    const { value } = expected;
    const sent = () => {
      if (expected.value === value) expected.value = ""; // else the pupil has typed on
    };
    ask({ wish: "hint", exercise, expected: value.trim(), sent });
  };
  expected.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) hint();
  });
  const add = (label: string, caption: string, press: () => void) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "lmc-traceback-button";
    button.textContent = label;
    button.title = caption;
    button.addEventListener("click", press);
    node.append(button);
  };
  node.append(expected);
  add(trans.__("Hint"), trans.__("One step about what you have tried; run the cell first"), hint);
  add(trans.__("Run the tests"), trans.__("Which test fails, in your teacher's words"), () =>
    ask({ wish: "test", exercise }),
  );
  return node;
}

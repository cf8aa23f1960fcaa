/**
 * Puts the code of an answer in the place of a cell's text, once the person has seen the change.
 *
 * One rule: what is replaced is what they have seen, and one undo in the cell brings it back.
 */

import { Dialog, showDialog } from "@jupyterlab/apputils";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";

import { asCell } from "../cell";
import { diff, type Line } from "../diff";
import type { ReplaceCell } from "../protocol";
import { splitHidden } from "../render/hidden";
import { shownCell } from "./cells";
import { noteOrigin } from "./origin";

const RUN = "run";

/** Ask about it, in a dialog; false where there is no such cell, or it cannot be edited. */
export function replace(notebook: NotebookPanel | null, asked: ReplaceCell, trans: TranslationBundle): boolean {
  const content = notebook?.content;
  const cells = content?.widgets.filter(({ model }) => model.type === "code") ?? [];
  const cell =
    cells.find(({ model }) => model.id === asked.cell) ??
    cells.find((each) => asked.number !== undefined && shownCell(each).number === asked.number);
  const { type, source } = asCell(asked.code.replace(/\s+$/, ""), asked.language);
  if (!content || !cell || content.model?.readOnly !== false || type !== "code") return false;
  if (cell.model.getMetadata("editable") === false) return false;
  void (async () => {
    let isRun: boolean | null;
    for (;;) {
      const { source: before, number } = shownCell(cell);
      const label = number === null ? trans.__("the cell") : trans.__("cell %1", number);
      isRun = await agreed(label, diff(before, source), asked.runs === true, trans);
      if (isRun === null || cell.isDisposed) return;
      if (cell.model.sharedModel.getSource() === before) break; // else somebody has edited it meanwhile
    }
    cell.model.sharedModel.setSource(source);
    noteOrigin(cell.model, asked.origin);
    content.deselectAll();
    content.activeCellIndex = content.widgets.indexOf(cell);
    asked.done?.(isRun);
    if (isRun) return void NotebookActions.run(content, notebook.sessionContext);
    content.mode = "edit"; // the next keys undo it, or run it
    await new Promise(requestAnimationFrame); // the dialog gives the focus back first
    cell.editor?.focus();
  })();
  return true;
}

/** Whether the new text is to be run; null where nothing is to be replaced. */
async function agreed(
  label: string,
  lines: Line[],
  runs: boolean,
  trans: TranslationBundle,
): Promise<boolean | null> {
  const isSame = lines.every(([sign]) => sign === " ");
  const alone = runs ? [] : [Dialog.okButton({ label: trans.__("Replace") })];
  const { button } = await showDialog({
    title: isSame ? trans.__("Nothing to replace: %1 has this text already", label) : trans.__("Replace %1?", label),
    body: new Change(lines, runs, trans),
    buttons: isSame
      ? [Dialog.cancelButton({ label: trans.__("Close") })]
      : [
          Dialog.cancelButton(),
          Dialog.okButton({ label: trans.__("Replace and run"), actions: [RUN] }),
          ...alone,
        ],
  });
  return button.accept ? button.actions.includes(RUN) : null;
}

/** The lines that go and come, and those around them. */
class Change extends Widget {
  constructor(lines: Line[], runs: boolean, trans: TranslationBundle) {
    super();
    this.addClass("lmc-replacement");
    const count = (sign: string) => lines.filter(([each]) => each === sign).length;
    const hint = document.createElement("p");
    hint.textContent = trans.__(
      runs
        ? "Lines removed: %1, added: %2. Undo in the cell restores the old text."
        : "Lines removed: %1, added: %2. “Replace” does not run the cell. Undo in the cell restores the old text.",
      count("-"),
      count("+"),
    );
    const list = document.createElement("div");
    list.className = "lmc-diff";
    list.tabIndex = 0; // it scrolls
    list.setAttribute("role", "group");
    list.setAttribute("aria-label", trans.__("Changes"));
    const words = { "-": trans.__("removed: "), "+": trans.__("new: "), " ": "" };
    list.append(...lines.map(([sign, text]) => line(sign, words[sign], text)));
    this.node.append(hint, list);
  }
}

function line(sign: Line[0], word: string, text: string): HTMLElement {
  const node = document.createElement("div");
  node.dataset.sign = sign;
  const [mark, said, code] = [document.createElement("span"), document.createElement("span"), document.createElement("code")];
  mark.setAttribute("aria-hidden", "true");
  mark.textContent = sign === "-" ? "−" : sign;
  said.className = "lmc-diff-word";
  said.textContent = word;
  for (const [part, isHidden] of splitHidden(text)) {
    const piece = document.createElement("span");
    piece.textContent = part;
    if (isHidden) piece.className = "lmc-diff-hidden";
    code.append(piece);
  }
  node.append(mark, said, code);
  return node;
}

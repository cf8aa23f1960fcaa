/**
 * The text of a cell that asks is a question: it is not coloured as Python.
 *
 * One rule: only how a cell is drawn changes, which no file keeps; whatever else sets the language
 * of a cell (the notebook, once its kernel is known) is followed.
 */

import type { NotebookPanel } from "@jupyterlab/notebook";

import { asksModel } from "./cells";

const PLAIN = "text/plain";

interface Model {
  mimeType: string;
  sharedModel: { getSource(): string };
}

/** From now on the cells of this notebook that ask are plain text, as long as they ask. */
export function drawQuestionsPlain({ content }: NotebookPanel): void {
  const draw = (model: Model) => {
    if (asksModel(model.sharedModel.getSource())) model.mimeType = PLAIN;
    else if (model.mimeType === PLAIN) model.mimeType = content.codeMimetype;
  };
  const follow = () => {
    for (const model of content.model?.cells ?? []) {
      if (model.type !== "code") continue;
      model.contentChanged.connect(draw); // no second time, where it is connected
      model.mimeTypeChanged.connect(draw);
      draw(model);
    }
  };
  const begin = () => {
    content.model?.cells.changed.connect(follow);
    follow();
  };
  content.modelChanged.connect(begin);
  begin();
}

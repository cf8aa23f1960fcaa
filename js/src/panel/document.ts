/**
 * The notebook's document around the panel, as far as the front end knows it.
 *
 * One rule: the panel asks by events of its own element, and whoever has a document answers (in
 * JupyterLab `lab/document.ts`); where nobody does there is none.
 */

import type { Document } from "../protocol";

/** What `lmc:document` carries; who knows the document puts it in. */
export interface Asked {
  document: Document | null;
}

/** The document now; null where the front end knows none. */
export function documentAt(place: Element | null): Document | null {
  const detail: Asked = { document: null };
  place?.dispatchEvent(new CustomEvent("lmc:document", { bubbles: true, composed: true, detail }));
  return detail.document;
}

/** Give the cell of this id the tag `lmc-hide`; false where nobody could. */
export function tagHidden(place: Element | null, id: string): boolean {
  const event = new CustomEvent("lmc:hide-cell", { bubbles: true, composed: true, cancelable: true, detail: { id } });
  return place !== null && id !== "" && !place.dispatchEvent(event);
}

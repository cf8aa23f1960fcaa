/**
 * Where the text of a cell came from, as `metadata.lmc` of the cell.
 *
 * One rule: it is written, and nothing here ever reads it. A notebook may say of itself what it likes.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { ICellModel } from "@jupyterlab/cells";
import type { JSONObject } from "@lumino/coreutils";

import type { Origin } from "../protocol";

/** The value of `metadata.lmc` of a cell with this text. */
export function originOf(source: string, { model, turn, decision, edited }: Origin): JSONObject {
  return { model, turn, decision, edited, sha256: bytesToHex(sha256(utf8ToBytes(source))) };
}

/** Note the origin of the text that the cell has now, where it is known. */
export function noteOrigin(cell: ICellModel, origin: Origin | undefined): void {
  if (origin) cell.setMetadata("lmc", originOf(cell.sharedModel.getSource(), origin));
}

/**
 * Two texts, by lines: what stays, what goes, what comes.
 *
 * One rule: the lines that stay and go are the old text, those that stay and come the new one.
 */

/** " " stays, "-" goes, "+" comes. */
export type Line = [sign: " " | "-" | "+", text: string];

const MOST = 4_000_000; // comparisons; beyond them all that differs goes and comes

/** As few lines as possible go and come; what goes stands before what comes in its place. */
export function diff(before: string, after: string): Line[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  const room = Math.min(old.length, fresh.length) - head;
  while (tail < room && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail += 1;
  const [a, b] = [old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)];
  const stays = (text: string): Line => [" ", text];
  return [...old.slice(0, head).map(stays), ...middle(a, b), ...old.slice(old.length - tail).map(stays)];
}

function middle(a: readonly string[], b: readonly string[]): Line[] {
  const lines: Line[] = [];
  const goes = (text: string) => lines.push(["-", text]);
  const comes = (text: string) => lines.push(["+", text]);
  if (a.length * b.length > MOST) {
    a.forEach(goes);
    b.forEach(comes);
    return lines;
  }
  // length[i][j]: how many lines a[i:] and b[j:] have in common, in their order
  const length = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number) => length[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = length[i];
    if (!row) continue;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i] ?? "", b[j] ?? ""];
    if (x === y) {
      lines.push([" ", x]);
      [i, j] = [i + 1, j + 1];
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      goes(x);
      i += 1;
    } else {
      comes(y);
      j += 1;
    }
  }
  a.slice(i).forEach(goes);
  b.slice(j).forEach(comes);
  return lines;
}

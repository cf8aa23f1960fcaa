/**
 * Whether the Enter key sends, as this browser remembers it.
 *
 * One rule: where the browser remembers nothing, it does.
 */

const ENTER = "lmc:enter-sends";

export function readEnterSends(): boolean {
  try {
    return localStorage.getItem(ENTER) !== "no";
  } catch {
    return true; // storage is not allowed here: the usual way
  }
}

export function writeEnterSends(value: boolean): void {
  try {
    localStorage.setItem(ENTER, value ? "yes" : "no");
  } catch {
    // it lasts as long as the page
  }
}

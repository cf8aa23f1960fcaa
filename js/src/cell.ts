/**
 * Code of any language as a cell of a Python notebook.
 *
 * One rule: what is inserted runs as it stands, or is shown as text; it never becomes Python that it
 * is not.
 */

/** The first line that lets IPython run a language other than Python. */
const MAGIC: ReadonlyMap<string, string> = new Map([
  ["shell", "%%bash"],
  ["bash", "%%bash"],
  ["sh", "%%sh"],
  ["zsh", "%%script zsh"],
  ["powershell", "%%script pwsh -NoProfile -Command -"],
  ["html", "%%html"],
  ["svg", "%%svg"],
  ["latex", "%%latex"],
  ["javascript", "%%javascript"],
  ["js", "%%javascript"],
  ["r", "%%script Rscript -"],
  ["ruby", "%%ruby"],
  ["perl", "%%perl"],
  ["applescript", "%%script osascript"],
]);

export interface CellContent {
  type: "code" | "markdown";
  source: string;
}

/** The cell to insert; a language that no magic runs becomes a fenced block of text. */
export function asCell(code: string, language: string): CellContent {
  const name = language.trim().toLowerCase();
  if (["", "python", "python3", "py", "ipython"].includes(name)) {
    return { type: "code", source: code };
  }
  if (name === "markdown" || name === "md") return { type: "markdown", source: code };
  const magic = MAGIC.get(name);
  if (magic !== undefined) return { type: "code", source: `${magic}\n${code}` };
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const label = name.replace(/[^\w+#.-]/g, "");
  return { type: "markdown", source: `${fence}${label}\n${code.replace(/\n?$/, "\n")}${fence}` };
}

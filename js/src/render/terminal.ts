/**
 * What a terminal would show of a text: colours, a carriage return, a backspace.
 *
 * One rule: it gives runs of [text, look] and no nodes, and a look is made of our own words and of
 * numbers only. Every other control sequence is left out.
 */

/** Text with one look: classes of ours, and for colours beyond the sixteen a style of numbers. */
export interface Run {
  text: string;
  css: string;
  style: string;
}

interface Look {
  fg: string; // "" | "red" | "bright-red" | "rgb(1,2,3)"
  bg: string;
  flags: string; // of "bdiurs", in this order
}

// CSI, OSC, the other strings, and two-character escapes; an unfinished one stays for later
const ESCAPE =
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/][0-~]|[@-OQ-WYZ\\`-~0-?])/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,2000}|[PX^_][^\x1b]{0,2000}|[ -/])?$/;
const CONTROL = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const FLAGS: Record<number, string> = { 1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s" };
const FLAGS_OFF: Record<number, string> = { 21: "b", 22: "bd", 23: "i", 24: "u", 27: "r", 29: "s" };
const PLAIN: Look = { fg: "", bg: "", flags: "" };
const LONGEST_LINE = 20_000; // cells that a carriage return can go back over

interface Cell {
  text: string;
  look: Look;
}

/** The state of one console; give it the text in pieces as it comes. */
export class Terminal {
  #look: Look = PLAIN;
  #line: Cell[] = []; // the line that is not over
  #column = 0;
  #rest = ""; // an escape sequence that is not over

  /** A copy that can go another way. */
  fork(): Terminal {
    const copy = new Terminal();
    copy.#look = this.#look;
    copy.#line = this.#line.map((cell) => ({ ...cell }));
    copy.#column = this.#column;
    copy.#rest = this.#rest;
    return copy;
  }

  /** Forget the open line: it has been drawn elsewhere. */
  newLine(): void {
    this.#line = [];
    this.#column = 0;
  }

  /** `done` can no longer change; `open` is the line in which a carriage return may come. */
  write(text: string): { done: Run[]; open: Run[] } {
    let source = this.#rest + text;
    const tail = UNFINISHED.exec(source);
    this.#rest = tail?.[0] ?? "";
    if (tail) source = source.slice(0, tail.index);
    const done: Run[] = [];
    let at = 0;
    for (const escape of source.matchAll(ESCAPE)) {
      this.#print(source.slice(at, escape.index), done);
      at = escape.index + escape[0].length;
      if (escape[2] === "m") this.#look = applyLook(this.#look, escape[1] ?? "");
      else if (escape[2] === "K") this.#erase(escape[1] ?? "");
    }
    this.#print(source.slice(at), done);
    return { done, open: runs(this.#line) };
  }

  #print(text: string, done: Run[]): void {
    if (!text) return;
    const lines = text.replaceAll("\r\n", "\n").split("\n");
    lines.forEach((line, index) => {
      if (index) {
        for (const run of runs(this.#line)) add(done, run);
        add(done, { text: "\n", css: "", style: "" });
        this.newLine();
      }
      this.#printLine(line);
    });
  }

  /** Within one line: text goes over what is there, from where the cursor is. */
  #printLine(text: string): void {
    for (const part of text.split(/([\r\b])/)) {
      if (part === "\r") this.#column = 0;
      else if (part === "\b") this.#column = Math.max(0, this.#column - 1);
      else if (part) this.#put(part.replace(CONTROL, ""));
    }
  }

  #put(text: string): void {
    const line = this.#line;
    const length = lengthOf(line);
    if (this.#column >= length || length > LONGEST_LINE) {
      line.push({ text, look: this.#look });
      this.#column = length + text.length;
      return;
    }
    // over what is there: split the line at the cursor
    const before = cut(line, 0, this.#column);
    const after = cut(line, this.#column + text.length, length);
    this.#line = [...before, { text, look: this.#look }, ...after];
    this.#column += text.length;
  }

  #erase(how: string): void {
    if (how === "" || how === "0") this.#line = cut(this.#line, 0, this.#column);
    else if (how === "2") this.#line = [{ text: " ".repeat(this.#column), look: PLAIN }];
  }
}

function lengthOf(line: Cell[]): number {
  return line.reduce((sum, cell) => sum + cell.text.length, 0);
}

function cut(line: Cell[], from: number, to: number): Cell[] {
  const part: Cell[] = [];
  let at = 0;
  for (const { text, look } of line) {
    const piece = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (piece) part.push({ text: piece, look });
    at += text.length;
  }
  return part;
}

function runs(line: Cell[]): Run[] {
  const all: Run[] = [];
  for (const { text, look } of line) add(all, { text, ...drawn(look) });
  return all;
}

function add(all: Run[], run: Run): void {
  const last = all.at(-1);
  if (last && last.css === run.css && last.style === run.style) last.text += run.text;
  else if (run.text) all.push({ ...run });
}

/** The look after one SGR sequence. */
function applyLook(look: Look, parameters: string): Look {
  if (/[^0-9;:]/.test(parameters)) return look;
  const numbers = parameters.split(/[;:]/).map(Number);
  let { fg, bg, flags } = look;
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] ?? 0;
    const flag = FLAGS[number];
    const off = FLAGS_OFF[number];
    if (number === 0) [fg, bg, flags] = ["", "", ""];
    else if (flag) flags = flags.includes(flag) ? flags : flags + flag;
    else if (off) flags = [...flags].filter((each) => !off.includes(each)).join("");
    else if (number >= 30 && number <= 37) fg = NAMES[number - 30] ?? "";
    else if (number >= 40 && number <= 47) bg = NAMES[number - 40] ?? "";
    else if (number >= 90 && number <= 97) fg = `bright-${NAMES[number - 90] ?? ""}`;
    else if (number >= 100 && number <= 107) bg = `bright-${NAMES[number - 100] ?? ""}`;
    else if (number === 39) fg = "";
    else if (number === 49) bg = "";
    else if (number === 38 || number === 48) {
      const [color, used] = extendedColour(numbers.slice(index + 1));
      if (number === 38) fg = color;
      else bg = color;
      index += used;
    }
  }
  return { fg, bg, flags };
}

/** `5;n` of the palette of 256, or `2;r;g;b`; and how many numbers that were. */
function extendedColour(numbers: number[]): [string, number] {
  const [kind, first = 0, second = 0, third = 0] = numbers;
  if (kind === 2) return [rgb(first, second, third), 4];
  if (kind !== 5) return ["", 1];
  if (first < 8) return [NAMES[first] ?? "", 2];
  if (first < 16) return [`bright-${NAMES[first - 8] ?? ""}`, 2];
  if (first >= 232) {
    const grey = 8 + 10 * (first - 232);
    return [rgb(grey, grey, grey), 2];
  }
  const level = (place: number) => {
    const step = Math.floor((first - 16) / place) % 6;
    return step ? 55 + 40 * step : 0;
  };
  return [rgb(level(36), level(6), level(1)), 2];
}

function rgb(...parts: number[]): string {
  return `rgb(${parts.map((part) => Math.min(255, Math.max(0, part || 0))).join(",")})`;
}

function drawn(look: Look): { css: string; style: string } {
  const isReversed = look.flags.includes("r");
  const fg = isReversed ? look.bg || "ground" : look.fg;
  const bg = isReversed ? look.fg || "text" : look.bg;
  const css: string[] = [];
  const style: string[] = [];
  if (fg.startsWith("rgb")) {
    // alone it is made readable on any ground; with a ground of its own it is as the program says
    if (bg) style.push(`color:${fg}`);
    else {
      css.push("lmc-mixed");
      style.push(`--lmc-ansi:${fg}`);
    }
  } else if (fg) css.push(`lmc-fg-${fg}`);
  if (bg.startsWith("rgb")) style.push(`background-color:${bg}`);
  else if (bg) css.push(`lmc-bg-${bg}`);
  for (const flag of look.flags) if (flag !== "r") css.push(`lmc-sgr-${flag}`);
  return { css: css.join(" "), style: style.join(";") };
}

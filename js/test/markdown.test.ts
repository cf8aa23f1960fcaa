/** Markdown: what streams ends as what is read at once, and that is what marked itself would write. */

import DOMPurify from "dompurify";
import { Lexer, Parser, Renderer, type MarkedOptions } from "marked";
import { describe, expect, it } from "vitest";

import { dialect, MarkdownStream } from "../src/render/markdown";
import type { Host } from "../src/render/rendering";

const FILES = import.meta.glob<string>("./corpus/*.md", { query: "?raw", import: "default", eager: true });
const CORPUS = Object.entries(FILES);
const SIZES = [1, 2, 3, 7, 50];

const host: Host = {
  asset: () => Promise.reject(new Error("no typesetter here")),
  openImage: () => undefined,
};

function pieces(text: string, size: number): string[] {
  return text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
}

/** Streamed in pieces of this size, drawn after each. */
function streamed(text: string, size: number): MarkdownStream {
  const stream = new MarkdownStream(host);
  for (const piece of pieces(text, size)) {
    stream.push(piece);
    stream.flush();
  }
  return stream;
}

function atOnce(text: string): HTMLElement {
  const stream = new MarkdownStream(host);
  stream.push(text);
  stream.end();
  return stream.element;
}

function html(stream: MarkdownStream): string {
  stream.element.normalize();
  return stream.element.innerHTML;
}

describe("streaming", () => {
  it("has a corpus", () => expect(CORPUS.length).toBeGreaterThanOrEqual(12));

  for (const [path, text] of CORPUS) {
    it.each(SIZES)(`${path} in pieces of %i ends as one full parse`, (size) => {
      const whole = atOnce(text);
      whole.normalize();
      const stream = streamed(text, size);
      stream.end();
      expect(html(stream)).toBe(whole.innerHTML);
      expect(whole.textContent?.trim().length).toBeGreaterThan(30);
    });
  }

  // in links.md addresses come later than their use: a prefix does not know them yet
  it.each(CORPUS.filter(([path]) => !path.includes("links")))("%s: every prefix shows what a full parse of it would", (_, text) => {
    const stream = new MarkdownStream(host);
    const part = text.slice(0, 2_500);
    for (let at = 0; at < part.length; at += 5) {
      stream.push(part.slice(at, at + 5));
      stream.flush();
      const prefix = part.slice(0, at + 5).replace(/\r$/, "");
      expect(shape(stream.element)).toBe(shape(fullParse(prefix)));
    }
  });
});

/** Read as a whole, in one go and with the links of the text so far only. */
function fullParse(text: string): HTMLElement {
  const stream = new MarkdownStream(host);
  stream.push(text);
  stream.flush();
  return stream.element;
}

/** Text and structure, without what differs while a block is open. */
function shape(element: HTMLElement): string {
  const copy = element.cloneNode(true) as HTMLElement;
  for (const node of copy.querySelectorAll(".lmc-source code")) node.textContent = (node.textContent ?? "").replace(/\n+$/, "");
  for (const node of copy.querySelectorAll("[tabindex]")) {
    for (const name of ["tabindex", "role", "aria-label"]) node.removeAttribute(name);
  }
  copy.normalize();
  return copy.innerHTML;
}

// Beside marked's own HTML -------------------------------------------------------------------------

/** What marked writes, cleaned by DOMPurify, in the terms of ours. */
function reference(text: string): string {
  const options: MarkedOptions = { ...dialect(), renderer: new Renderer() };
  options.extensions = {
    ...(options.extensions as NonNullable<MarkedOptions["extensions"]>),
    renderers: {
      math: (token) => `<i>${escaped(String(token.raw).trim())}</i>`,
      mathBlock: (token) => `<div><i>${escaped(String(token.raw).trim())}</i></div>`,
    },
  };
  const tokens = new Lexer(options).lex(text);
  const clean = DOMPurify.sanitize(Parser.parse(tokens, options), { RETURN_DOM_FRAGMENT: true });
  const element = document.createElement("div");
  element.append(clean);
  for (const img of element.querySelectorAll("img")) img.replaceWith("(image)");
  for (const box of element.querySelectorAll("input")) box.replaceWith(box.checked ? "☑" : "☐");
  return outline(element);
}

function escaped(text: string): string {
  const node = document.createElement("p");
  node.textContent = text;
  return node.innerHTML;
}

function ours(text: string): string {
  const element = atOnce(text);
  for (const node of element.querySelectorAll(".lmc-host")) node.remove();
  for (const a of element.querySelectorAll("a")) if (a.textContent?.startsWith("image: ")) a.replaceWith("(image)");
  for (const node of element.querySelectorAll(".lmc-math")) {
    const i = document.createElement("i");
    i.textContent = node.textContent;
    node.replaceWith(i);
  }
  for (const node of element.querySelectorAll(".lmc-line, .lmc-source span, .lmc-box")) node.replaceWith(...node.childNodes);
  return outline(element);
}

/** Tags and text, without white space, wrappers and attributes. */
function outline(node: Node): string {
  if (node instanceof Text) return node.data.replace(/\s+/g, "").replace(/image:.*?\)|image:/g, "(image)");
  if (!(node instanceof Element)) return "";
  const inner = [...node.childNodes].map(outline).join("");
  const tag = node.tagName.toLowerCase();
  return ["div", "span"].includes(tag) ? inner : `<${tag}>${inner}</${tag}>`;
}

const LINKS = /<a>|<\/a>/g; // we drop links to elsewhere than the web; marked writes them

describe("marked's own HTML", () => {
  it.each(CORPUS.filter(([path]) => !/links|unicode/.test(path)))("%s has the same structure and text", (_, text) => {
    expect(ours(text).replace(LINKS, "")).toBe(reference(text).replace(LINKS, ""));
  });
});

/** Markdown: what streams ends as what is read at once, and that is what marked itself would write. */

import DOMPurify from "dompurify";
import { Lexer, Parser, Renderer, type MarkedOptions } from "marked";
import { describe, expect, it } from "vitest";

import { dialect } from "../src/render/dialect";
import { whenColoured } from "../src/render/highlight";
import { MarkdownStream } from "../src/render/markdown";
import type { Host } from "../src/render/rendering";
import { assets } from "./assets";
import { LONG } from "./sampling";

const FILES = import.meta.glob<string>("./corpus/*.md", { query: "?raw", import: "default", eager: true });
const CORPUS = Object.entries(FILES);
const SIZES = [1, 2, 3, 7, 50];

const host: Host = {
  asset: () => Promise.reject(new Error("no typesetter here")),
  openImage: () => undefined,
};

/** What waits for its colours is drawn again from the last to the first: this comes behind it all. */
const allColoured = new Promise<void>((resolve) => whenColoured(host, resolve));

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

  // in the page of links, addresses come later than their use: a prefix does not know them yet
  const PREFIXES = CORPUS.filter(([path]) => !path.includes("links")).flatMap(([path, text]) =>
    (LONG ? [4, 7, 11] : [23]).map((step): [string, number, string] => [path, step, text]),
  );
  it.each(PREFIXES)("%s in steps of %i: every prefix shows what a full parse of it would", (_, step, text) => {
    const stream = new MarkdownStream(host);
    const part = text.slice(0, 1_500);
    for (let at = 0; at < part.length; at += step) {
      stream.push(part.slice(at, at + step));
      stream.flush();
      const prefix = part.slice(0, at + step).replace(/\r$/, "");
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
  for (const node of element.querySelectorAll("wbr")) node.remove();
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

// Links, and texts without end ---------------------------------------------------------------------

describe("links", () => {
  const links = (text: string) => [...atOnce(text).querySelectorAll("a")].map((a) => a.href);

  it("lead to the web and to mail only", () => {
    expect(links("[a](https://x.org/a) [b](http://x.org) [c](mailto:a@b.org) [d](/lab) [e](ftp://x.org) [f](x)")).toEqual([
      "https://x.org/a",
      "http://x.org/",
      "mailto:a@b.org",
    ]);
    expect(links("[a](https://x.org/?a=1&amp;b=2)")).toEqual(["https://x.org/?a=1&b=2"]);
  });

  it.each([
    ["[google.com](https://evil.example)", "google.com (evil.example)"],
    ["[see https://google.com/x](https://evil.example:8080)", "see https://google.com/x (evil.example:8080)"],
    ["[google.com](https://google.com@evil.example)", "google.com (evil.example)"],
    ["[www.good.org](https://good.org/x)", "www.good.org"],
    ["[the docs](https://good.org)", "the docs"],
    ["https://good.org/a.b.c", "https://good.org/a.b.c"],
  ])("%s says where it leads: %s", (text, said) => expect(atOnce(text).textContent).toBe(said));

  it("an image is a link, and in a link it is text", () => {
    const element = atOnce("![a chart](https://x.org/p.png) [![badge](https://y.org/b.png)](https://z.org)");
    expect(element.querySelector("img")).toBeNull();
    expect(element.querySelector("a a")).toBeNull();
    expect(element.textContent).toBe("image: a chart (x.org) image: badge (y.org) (z.org)");
  });

  it("a long query is shown before it is sent", () => {
    const element = atOnce(`[x](https://x.org/?q=${"s".repeat(300)}) [y](https://x.org/?q=1)`);
    document.body.append(element);
    const [long, short] = element.querySelectorAll("a");
    const opens = (a: Element | undefined) => a?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    element.addEventListener("click", (event) => {
      if (!event.defaultPrevented) element.dataset["opened"] = String(Number(element.dataset["opened"] ?? 0) + 1);
      event.preventDefault(); // jsdom goes nowhere
    });
    opens(short);
    expect(element.dataset["opened"]).toBe("1");
    opens(long);
    expect(element.dataset["opened"]).toBe("1");
    expect(element.textContent).toContain("characters go there; click again to open");
    opens(long);
    expect(element.dataset["opened"]).toBe("2");
    element.remove();
  });

  it("defined at the end are found, and what did not change stays", () => {
    const stream = new MarkdownStream(host);
    stream.push("[late] one\n\nother *text*\n\n");
    stream.flush();
    const other = stream.element.children[1];
    expect(stream.element.querySelector("a")).toBeNull();
    stream.push("[late]: https://late.example\n\nend\n");
    stream.end();
    expect(stream.element.querySelector("a")?.href).toBe("https://late.example/");
    expect(stream.element.children[1]).toBe(other);
  });
});

describe("texts without end", () => {
  it("a block of megabytes is text, and after it all goes on", () => {
    for (const unit of ["word ", "[", "*a ", "> ", "- "]) {
      const huge = unit.repeat(Math.ceil(400_000 / unit.length));
      const element = atOnce(`# Before\n\n${huge}\n\n**after**`);
      expect(element.querySelector("h1")?.textContent).toBe("Before");
      expect(element.querySelector("strong")?.textContent).toBe("after");
      expect([...element.querySelectorAll("p.lmc-plain")].map((p) => p.textContent).join("").trimEnd()).toContain(
        huge.slice(-1_000).trimEnd(),
      );
      expect(element.textContent?.length).toBe("Before".length + huge.length + "after".length);
    }
  });

  it("a list that is too long goes on as the next list", () => {
    const items = Array.from({ length: 1_500 }, (_, index) => `${index + 1}. item *${index + 1}* of a long list`);
    const element = atOnce(`${items.join("\n")}\n\nend`);
    expect([...element.children].map((child) => child.tagName)).toEqual(["OL", "OL", "P"]);
    expect(element.querySelectorAll("li em").length).toBe(1_500);
    const [first, second] = element.children;
    expect(Number(second?.getAttribute("start"))).toBe(Number(first?.childElementCount) + 1);
  });

  it("what is final is not touched again", () => {
    const stream = new MarkdownStream(host);
    stream.push("one\n\n- a\n- b\n\n```python\nx = 1\n```\n\ntwo");
    stream.flush();
    const nodes = [...stream.element.children];
    for (let index = 0; index < 50; index++) {
      stream.push(` more ${index}`);
      stream.flush();
    }
    stream.push("\n\nthree\n");
    stream.end();
    expect([...stream.element.children].slice(0, 4)).toEqual(nodes);
    expect([...stream.element.children].slice(0, 3).every((node, index) => node === nodes[index])).toBe(true);
  });

  it("an open fence is appended to, and coloured when it closes", async () => {
    const here: Host = { ...host, asset: assets() };
    await new Promise<void>((resolve) => whenColoured(here, resolve));
    const stream = new MarkdownStream(here);
    stream.push("```python\n");
    stream.flush();
    const code = stream.element.querySelector("code");
    for (let index = 0; index < 1_600; index++) stream.push(`x${index} = ${index}\n`);
    stream.flush();
    expect(stream.element.querySelector("code")).toBe(code);
    expect(code?.textContent).toContain("x1599 = 1599");
    stream.push("```\nafter");
    stream.end();
    expect(stream.element.querySelectorAll(".n").length).toBe(1_600);
    expect(stream.element.lastElementChild?.textContent).toBe("after");
    await allColoured; // else it would go on when the page of these tests is gone
  }, 120_000);
});

/** Formulas: which text is one, and what becomes of it. */

import { afterEach, describe, expect, it, vi } from "vitest";

import { renderToString } from "../src/katex";
import { MarkdownStream } from "../src/render/markdown";
import { layout, maskMath, rebuilt } from "../src/render/math";
import type { Host } from "../src/render/rendering";
import { assets } from "./assets";

const until = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000 });

function draw(text: string, asset: Host["asset"], Stream = MarkdownStream): HTMLElement {
  const stream = new Stream({ asset, openImage: () => undefined });
  stream.push(text);
  stream.end();
  return stream.element;
}

const never: Host["asset"] = () => new Promise(() => undefined);
const formulas = (text: string) => [...draw(text, never).querySelectorAll(".lmc-math")].map((node) => node.textContent);

describe("what is a formula", () => {
  it.each([
    ["$x$", ["$x$"]],
    ["a $x_1 + y_2$ b $z$", ["$x_1 + y_2$", "$z$"]],
    ["\\(a\\) and \\[b\\] and $$c$$", ["\\(a\\)", "\\[b\\]", "$$c$$"]],
    ["$$\nx\n\\\\ y\n$$", ["$$\nx\n\\\\ y\n$$"]],
    ["text\n\\[\nx\n\\]\nmore", ["\\[\nx\n\\]"]],
    ["it costs $5 and $10", []],
    ["from $5, to $6, or $7", []],
    ["$5$10", []],
    ["\\$x\\$ and `$y$`", []],
    ["```\n$x$\n```", []],
    ["$$\n\nx\n\n$$", []],
    ["$ x $", []],
    ["[link $x$](https://x.org)", ["$x$"]],
    ["*a $b*c$ d*", ["$b*c$"]],
    ["| $a$ |\n|---|\n| \\(b\\) |", ["$a$", "\\(b\\)"]],
  ])("%j", (text, wanted) => expect(formulas(text)).toEqual(wanted));

  it.each(["$", "$$", "\\(", "\\["])("a long one that begins with %s is read while its end has not come", (begin) => {
    // where a sign can be read in two ways, forty of them take a day
    const stream = new MarkdownStream({ asset: never, openImage: () => undefined });
    const tex = "\\alpha + \\beta \\\\ ".repeat(100);
    stream.push(`Here:\n\n${begin}`);
    for (let at = 0; at < tex.length; at += 50) {
      stream.push(tex.slice(at, at + 50));
      stream.flush();
    }
    stream.end();
    expect(stream.element.textContent).toContain("alpha");
    expect(stream.element.querySelector(".lmc-math")).toBeNull();
    expect(maskMath(begin + tex)).toBe(begin + tex);
  });

  it("is masked letter by letter", () => {
    expect(maskMath("*a $b*c$ d* \\$ x")).toBe("*a aaaaa d* \\$ x");
    expect(maskMath("plain *text*")).toBe("plain *text*");
    expect(maskMath("$a \\(b\\)")).toBe("$a aaaaa");
  });
});

describe("KaTeX's MathML", () => {
  it.each([
    "x_1^2",
    "\\frac{a}{b} + \\sqrt[3]{x}",
    "\\sum_{i=1}^n \\int_0^\\infty e^{-x^2}\\,dx",
    "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}",
    "\\begin{cases} 1 & x > 0 \\\\ 0 & \\text{otherwise} \\end{cases}",
    "\\begin{aligned} a &= b \\\\ &< c \\end{aligned}",
    "\\color{red}{x} \\mathbb{R} \\vec{v} \\hat{y} \\overline{z} \\boxed{w}",
    "\\lim_{n\\to\\infty} \\left( 1 + \\frac1n \\right)^n \\tag{1}",
  ])("%s loses nothing when it is built again", (tex) => {
    const markup = renderToString(tex, true);
    const parsed = new DOMParser().parseFromString(markup, "application/xml");
    for (const node of [...parsed.getElementsByTagName("annotation")]) node.remove();
    const built = rebuilt(markup);
    expect(built.textContent).toBe(parsed.documentElement.textContent);
    const names = (root: Element) =>
      [...root.getElementsByTagName("*")].map((node) => node.localName).filter((name) => name !== "semantics");
    expect(names(built)).toEqual(names(parsed.documentElement).slice(1)); // without the span and <math> itself
  });

  it("has no links and no classes of the text", () => {
    for (const tex of ["\\href{javascript:alert(1)}{x}", "\\htmlClass{y}{x}", "\\includegraphics{https://x.org/y.png}", "\\url{https://x.org}"]) {
      const built = rebuilt(renderToString(tex, false));
      const names = [built, ...built.querySelectorAll("*")].flatMap((node) => node.getAttributeNames());
      expect(new Set(["mathcolor", "mathvariant", ...names]).size).toBe(2);
      expect(built.querySelector("a, img, mglyph")).toBeNull();
    }
  });
});

describe("KaTeX's own layout", () => {
  it.each([
    "\\bar y + \\underbrace{a+b}_{n} + \\mathcal{L}",
    "\\sqrt{\\frac{x}{2}} + \\left(\\begin{matrix}1&2\\\\3&4\\end{matrix}\\right)",
    "\\vec{v} \\boxed{x} \\textcolor{red}{r} \\cancel{z} \\xrightarrow{ab} \\widehat{abc}",
    "\\begin{array}{c|c} a & b \\\\ \\hline c & d \\end{array} \\rule{1em}{2em} \\raisebox{1em}{x}",
  ])("%s loses nothing when it is built again", (tex) => {
    const markup = renderToString(tex, true, "html");
    const parsed = new DOMParser().parseFromString(markup, "text/html").querySelector(".katex-html");
    const [built] = layout(markup);
    const dressed = (root: Element | null | undefined) =>
      [...(root?.querySelectorAll("*") ?? [])].map((node) => {
        const css = node instanceof HTMLElement || node instanceof SVGElement ? node.style.cssText.split(/; ?/).sort().join() : "";
        return `${node.localName} ${node.getAttribute("class") ?? ""} ${css} ${(node.getAttribute("d") ?? "").replace(/\s/g, " ")}`;
      });
    expect(dressed(built)).toEqual(dressed(parsed));
    expect(built?.textContent).toBe(parsed?.textContent);
  });

  it("lets nothing through but spans, drawings and their measures", () => {
    const [built] = layout(
      '<span class="katex"><span class="katex-html" onclick="x()" style="position:fixed;background:url(//a.test);top:1em">' +
        '<a href="//a.test">x</a><img src="//a.test"/><svg xmlns="http://www.w3.org/2000/svg"><script>1</script>' +
        '<image href="//a.test"/><path d="M0" onload="x()"/></svg></span></span>',
    );
    expect(built?.outerHTML).toBe(
      '<span class="katex-html" style="top: 1em;" aria-hidden="true">x<svg>1<path d="M0"></path></svg></span>',
    );
  });
});

describe("typesetting", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  it("comes with the first formula, once, and leaves what is wrong as it was written", async () => {
    vi.resetModules(); // a page in which no formula was yet
    const { MarkdownStream: Fresh } = await import("../src/render/markdown");
    const asset = assets();
    draw("no formula", asset, Fresh);
    expect(asset).not.toHaveBeenCalled();
    const element = draw("$x^2$ and $\\frac{1$ and $$y$$", asset, Fresh);
    await until(() => expect(element.querySelectorAll("math").length).toBe(2));
    expect(element.querySelector(".lmc-bad-math")?.textContent).toBe("$\\frac{1$");
    expect(element.querySelector<HTMLElement>(".lmc-bad-math")?.title).toContain("KaTeX parse error");
    expect(draw("$z$", asset, Fresh).querySelector("math")?.textContent).toBe("z"); // at once by now
    expect(asset).toHaveBeenCalledTimes(1);
  });
});

it("a typesetter that does not come is said, and the source stays", async () => {
  vi.resetModules();
  const { MarkdownStream: Fresh } = await import("../src/render/markdown");
  const stream = new Fresh({ asset: () => Promise.reject(new Error("no kernel")), openImage: () => undefined });
  stream.push("$x$");
  stream.end();
  const math = stream.element.querySelector<HTMLElement>(".lmc-math");
  await until(() => expect(math?.title).toContain("no kernel"));
  expect(math?.textContent).toBe("$x$");
});

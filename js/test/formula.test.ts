/** What KaTeX makes, built again from lists: nothing is lost of a formula, and nothing else comes through. */

import { describe, expect, it } from "vitest";

import { renderToString } from "../src/katex";
import { layout, rebuilt } from "../src/render/formula";

const math = (inner: string) => `<span><math xmlns="http://www.w3.org/1998/Math/MathML">${inner}</math></span>`;
/** The inside of the formula that is built from this. */
const built = (inner: string) => rebuilt(math(inner)).innerHTML;
/** The same of a layout. */
const laid = (inner: string) => layout(`<span><span class="katex-html">${inner}</span></span>`).innerHTML;

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
    const built = layout(markup);
    const dressed = (root: Element | null | undefined) =>
      [...(root?.querySelectorAll("*") ?? [])].map((node) => {
        const css = node instanceof HTMLElement || node instanceof SVGElement ? node.style.cssText.split(/; ?/).sort().join() : "";
        return `${node.localName} ${node.getAttribute("class") ?? ""} ${css} ${(node.getAttribute("d") ?? "").replace(/\s/g, " ")}`;
      });
    expect(dressed(built)).toEqual(dressed(parsed));
    expect(built.textContent).toBe(parsed?.textContent);
  });

  it("lets nothing through but spans, drawings and their measures", () => {
    const built = layout(
      '<span class="katex"><span class="katex-html" onclick="x()" style="position:fixed;background:url(//a.test);top:1em">' +
        '<a href="//a.test">x</a><img src="//a.test"/><svg xmlns="http://www.w3.org/2000/svg"><script>1</script>' +
        '<image href="//a.test"/><path d="M0" onload="x()"/></svg></span></span>',
    );
    expect(built.outerHTML).toBe(
      '<span class="katex-html" style="top: 1em;" aria-hidden="true">x<svg>1<path d="M0"></path></svg></span>',
    );
  });
});

describe("the lists", () => {
  it("MathML is built again from a list", () => {
      const bad = math(
      '<mi onclick="x()" href="javascript:x" mathvariant="bold" style="x" class="y">a</mi>' +
        '<maction actiontype="statusline"><mi>b</mi></maction>' +
        '<annotation-xml encoding="text/html"><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="x()"/></annotation-xml>' +
        '<script xmlns="http://www.w3.org/1999/xhtml">x()</script><annotation>src</annotation>' +
        '<mstyle mathcolor="red" mathbackground="url(x)"><mo>+</mo></mstyle>',
    );
    const built = rebuilt(bad);
    expect(built.outerHTML).toBe(
      '<math><mi mathvariant="bold">a</mi><mi>b</mi>' +
        '<mstyle mathcolor="red"><mo>+</mo></mstyle></math>',
    );
    expect(built.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
    expect(() => rebuilt("<p>no</p>")).toThrow("not a formula");
    expect(() => rebuilt("<math")).toThrow("not a formula");
  });

  it.each([
    ["an element that nobody knows leaves its inside", "<mfoo><mi>a</mi>b</mfoo>", "<mi>a</mi>b"],
    ["the source goes, and comments", "<mi>a</mi><annotation>a</annotation><!-- c -->", "<mi>a</mi>"],
    ["an element of HTML goes with what is in it", '<p xmlns="http://www.w3.org/1999/xhtml"><mi>a</mi></p>', ""],
    ["known attributes stay", '<mo stretchy="false" lspace="0.5em" foo="1">+</mo>', '<mo stretchy="false" lspace="0.5em">+</mo>'],
    ["every sign of a value is known", '<mo width="+1.5,a #%-_">+</mo>', '<mo width="+1.5,a #%-_">+</mo>'],
    ["a value with another sign goes", '<mo width="url(x)" height="a:b" depth="x;y">+</mo>', "<mo>+</mo>"],
    ["a sign before or behind a good value", '<mo width="(1" height="1)">+</mo>', "<mo>+</mo>"],
    ["sixty characters are the most", `<mo width="${"1".repeat(60)}" height="${"1".repeat(61)}">+</mo>`, `<mo width="${"1".repeat(60)}">+</mo>`],
    ["an empty value stays", '<mo form="">+</mo>', '<mo form="">+</mo>'],
    ["colours", '<mi mathcolor="#aBc" mathbackground="red">a</mi>', '<mi mathcolor="#aBc" mathbackground="red">a</mi>'],
    ["a long colour", '<mi mathcolor="#12345678">a</mi>', '<mi mathcolor="#12345678">a</mi>'],
    ["what is no colour", '<mi mathcolor="#12" mathbackground="#123456789">a</mi>', "<mi>a</mi>"],
    ["an address is no colour", '<mi mathcolor="url(x)" mathbackground="red2">a</mi>', "<mi>a</mi>"],
    ["nothing is no colour, nor a name with a digit", '<mi mathcolor="" mathbackground="1red">a</mi>', "<mi>a</mi>"],
    ["a colour of thirty letters", `<mi mathcolor="${"a".repeat(30)}" mathbackground="${"a".repeat(31)}">a</mi>`, `<mi mathcolor="${"a".repeat(30)}">a</mi>`],
  ])("of MathML: %s", (_, inner, html) => expect(built(inner)).toBe(html));

  const svg = (inner: string) => `<svg xmlns="http://www.w3.org/2000/svg">${inner}</svg>`;
  it.each([
    ["spans and their text stay, and comments go", '<span class="mord x-1">a<!-- c --></span>', '<span class="mord x-1">a</span>'],
    ["another element leaves its inside", "<b>a<span>b</span></b>", "a<span>b</span>"],
    ["a class of two hundred signs", `<span class="${"a".repeat(200)}">a</span>`, `<span class="${"a".repeat(200)}">a</span>`],
    ["a longer class goes", `<span class="${"a".repeat(201)}">a</span>`, "<span>a</span>"],
    ["a class of other signs goes", '<span class="a!b">a</span><span class="!a">b</span>', "<span>a</span><span>b</span>"],
    ["a span has no measures of a drawing", '<span width="1" d="M0">a</span>', "<span>a</span>"],
    ["a drawing of no known kind is no drawing", '<path d="M0"/>a', "a"],
    ["styles", '<span style="top:1em; color : #aBc;width:calc(1px)">a</span>', '<span style="top: 1em; color: rgb(170, 187, 204);">a</span>'],
    ["another attribute is no style", '<span title="top:1em">a</span>', "<span>a</span>"],
    ["a style of no list goes", '<span style="display:none;z-index:1">a</span>', "<span>a</span>"],
    ["a place over the page goes", '<span style="position:FIXED">a</span><span style="position: sticky">b</span>', "<span>a</span><span>b</span>"],
    ["a place in the formula stays", '<span style="position:relative">a</span>', '<span style="position: relative;">a</span>'],
    ["a style without a value goes", '<span style="top">a</span><span style="">b</span>', "<span>a</span><span>b</span>"],
  ])("of the layout: %s", (_, inner, html) => expect(laid(inner)).toBe(html));

  it.each([
    ["lines and paths stay", '<line x1="0" x2="50%"/><path d="M0,1.5 L-2\n3"/>', '<line x1="0" x2="50%"></line><path d="M0,1.5 L-2 3"></path>'],
    ["what is only called like one goes", "<apath/><pathx/><text>a</text>", "a"],
    ["an attribute of no list goes", '<path id="a" href="#b" d="M0"/>', '<path d="M0"></path>'],
    ["a value with another sign goes", '<path d="url(x)" x1="(1" x2="1)"/>', "<path></path>"],
    ["a long value stays", `<path d="${"1".repeat(20_000)}"/>`, `<path d="${"1".repeat(20_000)}"></path>`],
    ["a longer one goes", `<path d="${"1".repeat(20_001)}"/>`, "<path></path>"],
  ])("of drawings: %s", (_, inner, html) => expect(laid(svg(inner))).toBe(`<svg>${html}</svg>`));

  it("a style is of sixty signs at most", () => {
    const style = (n: number) => `width:${"0".repeat(n - 3)}1px`;
    expect(laid(`<span style="${style(60)}">a</span>`)).toContain("width: 1px");
    expect(laid(`<span style="${style(61)}">a</span>`)).toBe("<span>a</span>");
  });

  it("what is no formula is refused, as MathML and as a layout", () => {
    expect(() => layout("<span>no</span>")).toThrow("not a formula");
    expect(() => layout("<span")).toThrow("not a formula");
    const element = layout('<span><span class="katex-html">a</span></span>');
    expect(element.outerHTML).toBe('<span class="katex-html" aria-hidden="true">a</span>');
  });
});

/** Which Markdown becomes which elements, to the attribute; and where a link may lead. */

import type { Token } from "marked";
import { describe, expect, it } from "vitest";

import { MarkdownStream } from "../src/render/markdown";
import { codeOf, drawBlock, isDrawn, languageOf, morph } from "../src/render/nodes";
import type { Host } from "../src/render/rendering";

const host: Host = {
  asset: () => Promise.reject(new Error("no typesetter here")),
  openImage: () => undefined,
};

function drawn(text: string): HTMLElement {
  const stream = new MarkdownStream(host);
  stream.push(text);
  stream.end();
  stream.element.normalize();
  return stream.element;
}

/** The element of a link, as HTML. */
function link(href: string, inner: string, title = href): string {
  return `<a href="${href}" target="_blank" rel="noopener noreferrer nofollow" title="${title}">${inner}</a>`;
}

const box = (label: string, sign: string) => `<span class="lmc-box" role="img" aria-label="${label}">${sign} </span>`;
const [DONE, TO_DO] = [box("done", "☑"), box("to do", "☐")];
const code = (line: string) =>
  `<div class="lmc-codeblock"><pre class="lmc-source"><code><span class="lmc-line">${line}\n</span></code></pre></div>`;

describe("blocks", () => {
  it.each([
    ["headings, a line break, a rule", "# One *two*\n\n###### six\n\na  \nb\n\n---", "<h1>One <em>two</em></h1><h6>six</h6><p>a<br>b</p><hr>"],
    [
      "a list in a quotation",
      "> a\n>\n> - b\n> - c `x`",
      "<blockquote><p>a</p><ul><li>b</li><li>c <code>x</code></li></ul></blockquote>",
    ],
    ["numbers", "1. d\n2. **e**", "<ol><li>d</li><li><strong>e</strong></li></ol>"],
    ["numbers from another on", "7. f\n8. g\n\n    more", '<ol start="7"><li><p>f</p></li><li><p>g</p><p> more</p></li></ol>'],
    ["numbers from zero", "0. f", '<ol start="0"><li>f</li></ol>'],
    [
      "tasks",
      "- [x] done **it**\n- [ ] not",
      `<ul><li class="lmc-task">${DONE}done <strong>it</strong></li><li class="lmc-task">${TO_DO}not</li></ul>`,
    ],
    ["numbered tasks", "1. [x] a\n\n2. b", `<ol><li class="lmc-task"><p>${DONE}a</p></li><li><p>b</p></li></ol>`],
    [
      "a table",
      "| a | b |\n|---|:-:|\n| 1 | ~~2~~ |",
      '<div class="lmc-table"><table><thead><tr><th scope="col">a</th><th class="lmc-center" scope="col">b</th></tr></thead>' +
        '<tbody><tr><td>1</td><td class="lmc-center"><del>2</del></td></tr></tbody></table></div>',
    ],
    [
      "a table without rows, aligned",
      "| a | b | c |\n|:--|--:|---|",
      '<div class="lmc-table"><table><thead><tr><th class="lmc-left" scope="col">a</th>' +
        '<th class="lmc-right" scope="col">b</th><th scope="col">c</th></tr></thead></table></div>',
    ],
    [
      "a wide table scrolls",
      "| a | b | c | d |\n|---|---|---|---|",
      '<div class="lmc-table" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th scope="col">a</th>' +
        '<th scope="col">b</th><th scope="col">c</th><th scope="col">d</th></tr></thead></table></div>',
    ],
    ["code", "```python title\nx = 1\n```\n\n    indented\n\n~~~\ny\n~~~", code("x = 1") + code("indented") + code("y")],
    ["code in a quotation", "> ```r\n> x\n> ```", `<blockquote>${code("x")}</blockquote>`],
    [
      "formulas",
      "$a$ and $$b$$\n\n$$\nc\n$$",
      '<p><span class="lmc-math">$a$</span> and <span class="lmc-math lmc-display">$$b$$</span></p>' +
        '<div class="lmc-formula"><span class="lmc-math lmc-display">$$\nc\n$$</span></div>',
    ],
    [
      "a formula ends a paragraph",
      "text\n$$\nc\n$$\ntext",
      '<p>text</p><div class="lmc-formula"><span class="lmc-math lmc-display">$$\nc\n$$</span></div><p>text</p>',
    ],
    ["tags are text", "a <b>tag</b>\n\n<div>block</div>", "<p>a &lt;b&gt;tag&lt;/b&gt;</p><p>&lt;div&gt;block&lt;/div&gt;</p>"],
  ])("%s", (_, text, html) => expect(drawn(text).innerHTML).toBe(html));

  it("of a kind that nobody knows are their own text, and so is such a part of a line", () => {
    expect(drawBlock({ type: "nonsense", raw: "<b>x</b>" }, host).outerHTML).toBe("<p>&lt;b&gt;x&lt;/b&gt;</p>");
    const inner = [{ type: "nonsense", raw: "<i>" }, { type: "text", raw: "&amp;", text: "&amp;" }];
    const paragraph = { type: "paragraph", raw: "", text: "", tokens: inner };
    expect(drawBlock(paragraph, host).outerHTML).toBe("<p>&lt;i&gt;&amp;</p>");
  });

  it("have six levels of headings at most, and need no words in a list", () => {
    const heading = { type: "heading", raw: "", text: "", depth: 9, tokens: [] };
    expect(drawBlock(heading, host).outerHTML).toBe("<h6></h6>");
    const item = (tokens: Token[]) => ({ type: "list_item", raw: "", task: false, loose: false, text: "", tokens });
    const list = (start: number | "", tokens: Token[]) =>
      drawBlock({ type: "list", raw: "", ordered: true, start, loose: false, items: [item(tokens)] }, host).outerHTML;
    const space = { type: "space", raw: "\n\n" };
    expect(list("", [space, { type: "def", raw: "[a]: b" }])).toBe("<ol><li></li></ol>");
    expect(list(2, [{ type: "text", raw: "x", text: "x" }])).toBe('<ol start="2"><li>x</li></ol>');
    expect(list(1, [{ type: "checkbox", raw: "[x]", checked: true }])).toBe(`<ol><li>${DONE}</li></ol>`);
    expect([space, { type: "def", raw: "" }, { type: "hr", raw: "---" }].map(isDrawn)).toEqual([false, false, true]);
  });

  it("know their language and their code", () => {
    const block = (lang: string | undefined, text: string) => ({ type: "code", raw: "", lang, text });
    expect(["python title", "  x", "c++", undefined].map((lang) => languageOf(block(lang, "")))).toEqual(["python", "", "c++", ""]);
    expect(["a\n", "a\n\n", "a\nb", ""].map((text) => codeOf(block("", text)))).toEqual(["a", "a\n", "a\nb", ""]);
  });
});

describe("what lies too deep", () => {
  const quote = (tokens: Token[]): Token => ({ type: "blockquote", raw: "> raw", text: "", tokens });
  const em = (tokens: Token[]): Token => ({ type: "em", raw: "*raw*", text: "", tokens });
  const nested = (make: (tokens: Token[]) => Token, deep: number, end: Token[] = []) => {
    let tokens = end;
    for (let n = 0; n < deep; n++) tokens = [make(tokens)];
    return tokens[0] as Token;
  };

  it.each([
    ["blocks", quote, "blockquote", 40, '<p class="lmc-plain">&gt; raw</p>'],
    ["parts of a line", em, "em", 39, "*raw*"],
  ] as const)("is its own text: %s", (_, make, tag, most, rest) => {
    const draw = (deep: number) => {
      const token = nested(make, deep);
      const line = { type: "paragraph", raw: "", text: "", tokens: [token] };
      const page = document.createElement("div");
      page.append(drawBlock(tag === "em" ? line : token, host));
      return page;
    };
    for (const _time of [1, 2]) {
      expect(draw(most).querySelectorAll(tag).length).toBe(most);
      const deepest = draw(most + 20);
      expect(deepest.querySelectorAll(tag).length).toBe(most);
      expect(deepest.innerHTML).toContain(`<${tag}>${rest}</${tag}>`);
    }
  });

  it("counts anew after a token that cannot be drawn", () => {
    const broken = { type: "paragraph", raw: "" } as Token;
    for (let n = 0; n < 50; n++) expect(() => drawBlock(quote([broken]), host)).toThrow(TypeError);
    for (let n = 0; n < 50; n++) expect(() => drawBlock(quote([em([broken])]), host)).not.toThrow();
    const paragraph = { type: "paragraph", raw: "", text: "", tokens: [{ type: "link", raw: "x", href: 7 } as unknown as Token] };
    for (let n = 0; n < 50; n++) expect(() => drawBlock(paragraph, host)).toThrow(TypeError);
    expect(drawBlock(quote([quote([])]), host).outerHTML).toBe("<blockquote><blockquote></blockquote></blockquote>");
  });
});

describe("a line", () => {
  it.each([
    ["signs by their names and numbers", "\\*a\\* &copy; &#65; &#x42; &#X43; & x", "*a* © A B C &amp; x"],
    ["what only looks so is text", "&nosuch; &amp;lt; `&copy;` \\&copy;", "&amp;nosuch; &amp;lt; <code>&amp;copy;</code> &amp;copy;"],
    ["a number has seven digits at most, or six", "&#0000065; &#00000065; &#x000041; &#x0000041;", "A &amp;#00000065; A &amp;#x0000041;"],
    ["a name has forty letters at most", `&${"a".repeat(41)}; &CounterClockwiseContourIntegral;`, `&amp;${"a".repeat(41)}; ∳`],
    ["a link to the web", "[a](https://example.org/x)", link("https://example.org/x", "a")],
    ["a link to mail, with a title", '[b](<mailto:a@b.org> "T &amp; U")', link("mailto:a@b.org", "b", "T &amp; U (mailto:a@b.org)")],
    ["a link to anywhere else is text", "[c](javascript:x) [d](/lab) [e](ftp://x.org) [f](xhttps://x.org) [g](https:x.org) [h](//x.org)", "c d e f g h"],
    ["an address without a host is text", "[x](http://) [y](HTTPS://E.org)", `x ${link("https://e.org/", "y")}`],
    ["signs in an address", "[a](https://e.org/?a&amp;b)", link("https://e.org/?a&amp;b", "a")],
    [
      "signs by their numbers in an address and its title",
      '[a](https://e.org/?&#65;&#x42;&#X43;&#0000068;&#00000069; "&#65;&#x000042;&#x0000043;")',
      link("https://e.org/?ABCD&amp;#00000069;", "a", "AB&amp;#x0000043; (https://e.org/?ABCD&amp;#00000069;)"),
    ],
    ["an address in angle brackets is meant as it stands", "<https://e.org/&amp;y>", link("https://e.org/&amp;amp;y", "https://e.org/&amp;amp;y")],
    ["addresses in the text", "https://e.org www.e.org", `${link("https://e.org/", "https://e.org")} ${link("http://www.e.org/", "www.e.org")}`],
    ["an image is a link", "![alt *x* &copy;](https://e.org:81/p.png)", link("https://e.org:81/p.png", "image: alt x © (e.org:81)")],
    ["an escaped sign in the words of an image", "![\\*](https://e.org/)", link("https://e.org/", "image: * (e.org)")],
    ["an image without words", "![](https://e.org/)", link("https://e.org/", "image: without a name (e.org)")],
    ["an image behind a mail address", "![m](mailto:a@b.org)", link("mailto:a@b.org", "image: m (mailto:)")],
    ["signs in the address of an image", "![p](https://e.org/?a&amp;b)", link("https://e.org/?a&amp;b", "image: p (e.org)")],
    ["an image in the text is none", "![x](data:image/png;base64,aa)", "image: x"],
    [
      "an image in a link",
      "[![in](https://e.org/p.png)](https://f.org)",
      `${link("https://f.org/", "image: in (e.org)")}<span class="lmc-host"> (f.org)</span>`,
    ],
    [
      "an image in bold in a link",
      "[**![in](https://f.org/p.png) b**](https://f.org)",
      link("https://f.org/", "<strong>image: in (f.org) b</strong>"),
    ],
  ])("%s", (_, text, html) => expect(drawn(text).innerHTML).toBe(`<p>${html}</p>`));

  it.each([
    ["example.com", "https://evil.org:8080/", " (evil.org:8080)"],
    ["see bank.com now", "https://evil.org", " (evil.org)"],
    ["see evil.org now", "https://evil.org", null],
    ["see (bank.com) now", "https://evil.org", " (evil.org)"],
    ["x@bank.com", "https://evil.org", " (evil.org)"],
    ["https://bank.com/login", "https://evil.org", " (evil.org)"],
    ["bank.com?x", "https://evil.org", " (evil.org)"],
    ["bank.com#x", "https://evil.org", " (evil.org)"],
    ["bank.com:80", "https://evil.org", " (evil.org)"],
    ["münchen.de", "https://evil.org", " (evil.org)"],
    ["a-1.bank.com", "https://evil.org", " (evil.org)"],
    ["wwwx.evil.org", "https://evil.org", " (evil.org)"],
    ["www.evil.org", "https://evil.org", null],
    ["Evil.ORG/x", "https://www.evil.org", null],
    ["x.www.evil.org", "https://x.evil.org", " (x.evil.org)"],
    ["bank.com", "mailto:a@bank.com", null],
    ["a.b", "https://evil.org", null],
    ["bank.comx1", "https://evil.org", null],
    ["*bank.com*", "https://evil.org", " (evil.org)"],
    ["bank", "https://evil.org", null],
  ])("names the host where a link leads elsewhere than it says, %#", (text, address, note) => {
    const after = drawn(`[${text}](${address})`).querySelector("a + .lmc-host");
    expect(after?.textContent ?? null).toBe(note);
  });

  it("says no more of a long address than its beginning", () => {
    const a = drawn(`[a](https://e.org/${"x".repeat(600)})`).querySelector("a");
    expect(a?.title).toBe(`https://e.org/${"x".repeat(486)}`);
  });
});

describe("a long address", () => {
  const click = (target: EventTarget) => {
    const event = new MouseEvent("click", { bubbles: true, cancelable: true });
    target.dispatchEvent(event);
    return event.defaultPrevented;
  };
  /** A page with a link of so many characters behind its host, and what stands in the link. */
  const open = (length: number) => {
    const page = drawn(`before [*a*](https://e.org/p?${"x".repeat(length - 3)})`);
    const inner = page.querySelector("a em");
    if (!inner?.firstChild) throw new Error("there is no link");
    return { page, inner, text: inner.firstChild };
  };

  it("is not sent by one click, and says so", () => {
    const { page, inner } = open(201);
    expect(click(inner)).toBe(true);
    const note = page.querySelector("a + .lmc-host");
    expect(note?.textContent).toBe(" (e.org: 201 characters go there; click again to open)");
    expect(note?.getAttribute("role")).toBe("status");
    expect(click(inner)).toBe(false);
    expect(page.querySelectorAll(".lmc-host").length).toBe(1);
  });

  it("is one of more than 200 characters; nothing else is stopped", () => {
    const { page, inner } = open(200);
    expect(click(inner)).toBe(false);
    const { page: other, text } = open(201);
    expect(click(text)).toBe(false); // no browser says that a text was clicked
    for (const each of [page, other]) {
      expect(click(each)).toBe(false);
      expect(each.querySelector(".lmc-host")).toBeNull();
    }
  });
});

describe("drawn again", () => {
  const element = (html: string) => {
    const place = document.createElement("div");
    place.innerHTML = html;
    return place.firstElementChild as HTMLElement;
  };

  it.each([
    ["<p>a</p>", "<h1>a</h1>"],
    ["<p>a</p>", '<p class="x">a</p>'],
    ["<ol><li>a</li></ol>", '<ol start="2"><li>a</li></ol>'],
  ])("what is another element stays as it is, %#", (old, fresh) => {
    const node = element(old);
    expect(morph(node, element(fresh))).toBe(false);
    expect(node.outerHTML).toBe(old);
  });

  it.each([
    ["<p>a</p>", "<p>ab</p>", 1],
    ["<p>a</p>", "<p>b</p>", 1],
    ["<p>a<em>b</em></p>", "<p>a<em>bc</em>d</p>", 2],
    ["<p>a<em>b</em>c</p>", "<p>a</p>", 1],
    ["<p></p>", "<p>a<em>b</em></p>", 0],
    ["<p>a<em>b</em></p>", "<p>a<strong>b</strong></p>", 1],
    ["<p><em>b</em>a</p>", "<p>a</p>", 0],
    ["<p>a</p>", "<p><em>a</em></p>", 0],
    ['<p><a href="https://e.org">a</a></p>', '<p><a href="https://f.org">a</a></p>', 0],
    ['<p><span class="lmc-codeblock">a</span></p>', '<p><span class="lmc-codeblock">b</span></p>', 0],
    ["<ul><li>a</li><li>b</li></ul>", "<ul><li>a</li><li>c</li><li>d</li></ul>", 2],
    ["<p>a<em>b</em>c</p>", "<p>a<em>b</em>c</p>", 3],
    ['<ol start="2"><li>a</li></ol>', '<ol start="2"><li>ab</li></ol>', 1],
  ])("what is the same element keeps of its nodes what is the same, %#", (old, fresh, same) => {
    const [node, other] = [element(old), element(fresh)];
    const before = [...node.childNodes];
    expect(morph(node, other)).toBe(true);
    expect(node.outerHTML).toBe(fresh);
    const kept = before.filter((each, at) => node.childNodes[at] === each);
    expect(kept.length).toBe(same);
  });

  it("a text that grows is not written anew", () => {
    const node = element("<p>abc</p>");
    const text = node.firstChild as Text;
    const range = document.createRange();
    range.setStart(text, 1);
    range.setEnd(text, 3); // what a person has selected
    expect(morph(node, element("<p>abcdef</p>"))).toBe(true);
    expect([text.data, range.toString()]).toEqual(["abcdef", "bc"]);
  });
});

/**
 * What marked has read of markdown, as nodes.
 *
 * One rule: by name and by `textContent`, never by HTML. Nothing is fetched, and a link leads to
 * http, https or mailto only. (docs/security.md)
 */

import type { MarkedToken, Token, Tokens } from "marked";

import { CodeRendering } from "./code";
import { drawMath, type MathToken } from "./math";
import { el, type Host } from "./rendering";

const DEEPEST = 40; // blocks in blocks
const LONG_QUERY = 200; // characters of a link's query that are not sent by one click

/** Whether a token is seen. */
export function isDrawn(token: Token): boolean {
  return token.type !== "space" && token.type !== "def";
}

let depth = 0;

export function drawBlock(token: Token, host: Host): HTMLElement {
  if (depth >= DEEPEST) return el("p", "lmc-plain", token.raw);
  depth += 1;
  try {
    return blockOf(token, host);
  } finally {
    depth -= 1;
  }
}

function blockOf(token: Token, host: Host): HTMLElement {
  const typedToken = token as MarkedToken | MathToken;
  switch (typedToken.type) {
    case "heading":
      return el(`h${Math.min(6, typedToken.depth) as 1 | 2 | 3 | 4 | 5 | 6}`, "", ...drawInline(typedToken.tokens, host));
    case "paragraph":
      return el("p", "", ...drawInline(typedToken.tokens, host));
    case "blockquote":
      return el("blockquote", "", ...drawBlocks(typedToken.tokens, host));
    case "list":
      return drawList(typedToken, host);
    case "table":
      return drawTable(typedToken, host);
    case "hr":
      return el("hr");
    case "code": {
      const code = new CodeRendering(languageOf(typedToken), host);
      code.push(codeOf(typedToken));
      code.end();
      return code.element;
    }
    case "mathBlock":
      return el("div", "lmc-formula", drawMath(typedToken.tex, true, typedToken.raw, host));
    default:
      return el("p", "", token.raw);
  }
}

function drawBlocks(tokens: Token[], host: Host): Node[] {
  return tokens.flatMap((token): Node[] => {
    if (token.type === "text") {
      return drawInline((token as Tokens.Text).tokens ?? [token], host);
    }
    if (token.type === "checkbox") return drawInline([token], host);
    return isDrawn(token) ? [drawBlock(token, host)] : [];
  });
}

function drawList(list: Tokens.List, host: Host): HTMLElement {
  const items = list.items.map((item) =>
    el("li", item.task ? "lmc-task" : "", ...drawBlocks(item.tokens, host)),
  );
  if (!list.ordered) return el("ul", "", ...items);
  const ol = el("ol", "", ...items);
  if (list.start !== 1 && list.start !== "") ol.setAttribute("start", String(list.start));
  return ol;
}

function drawTable(table: Tokens.Table, host: Host): HTMLElement {
  const cell = (each: Tokens.TableCell, tag: "th" | "td") => {
    const node = el(tag, each.align ? `lmc-${each.align}` : "", ...drawInline(each.tokens, host));
    if (tag === "th") node.setAttribute("scope", "col");
    return node;
  };
  const row = (cells: Tokens.TableCell[], tag: "th" | "td") =>
    el("tr", "", ...cells.map((each) => cell(each, tag)));
  const node = el("table", "", el("thead", "", row(table.header, "th")));
  if (table.rows.length) node.append(el("tbody", "", ...table.rows.map((cells) => row(cells, "td"))));
  const box = el("div", "lmc-table", node); // wide tables scroll in themselves
  if (table.header.length > 3) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table");
  }
  return box;
}

function drawInline(tokens: Token[], host: Host): Node[] {
  if (depth >= DEEPEST) return tokens.map((token) => document.createTextNode(token.raw));
  depth += 1;
  try {
    return inlineOf(tokens, host);
  } finally {
    depth -= 1;
  }
}

function inlineOf(tokens: Token[], host: Host): Node[] {
  return tokens.flatMap((token): Node[] => {
    const typedToken = token as MarkedToken | MathToken;
    switch (typedToken.type) {
      case "text":
      case "escape":
        return [document.createTextNode(decode(typedToken.text))];
      case "strong":
      case "em":
      case "del":
        return [el(typedToken.type, "", ...drawInline(typedToken.tokens, host))];
      case "codespan":
        return [el("code", "", typedToken.text)];
      case "br":
        return [el("br")];
      case "checkbox":
        return [drawBox(typedToken.checked)];
      case "link":
        return drawLink(typedToken, host);
      case "image":
        return drawImage(typedToken);
      case "math":
        return [drawMath(typedToken.tex, typedToken.display, typedToken.raw, host)];
      default:
        return [document.createTextNode(token.raw)];
    }
  });
}

function drawBox(isChecked: boolean): HTMLElement {
  const box = el("span", "lmc-box", isChecked ? "☑ " : "☐ ");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", isChecked ? "done" : "to do");
  return box;
}

function drawLink(link: Tokens.Link, host: Host): Node[] {
  const inner = link.autolink
    ? [document.createTextNode(link.text)]
    : drawInline(link.tokens, host).flatMap(withoutLinks);
  const url = address(link.autolink ? link.href : decode(link.href));
  if (!url) return inner; // no way there: only what it said
  const a = anchor(url, ...inner);
  if (link.title) a.title = `${decode(link.title)} (${url.href})`;
  const statedHost = hostOf(a.text);
  const leadsElsewhere = statedHost !== null && url.host !== "" && statedHost !== bare(url.hostname);
  return leadsElsewhere ? [a, el("span", "lmc-host", ` (${url.host})`)] : [a];
}

/** An image in a link is a link of its own otherwise. */
function withoutLinks(node: Node): Node[] {
  if (node instanceof HTMLAnchorElement) return [...node.childNodes];
  if (node instanceof Element) for (const a of node.querySelectorAll("a")) a.replaceWith(...a.childNodes);
  return [node];
}

/** Never fetched: its address would tell its host what the text says. A link instead. */
function drawImage(image: Tokens.Image): Node[] {
  const url = address(decode(image.href));
  const alt = textOfTokens(image.tokens) || "without a name";
  if (!url) return [document.createTextNode(`image: ${alt}`)];
  return [anchor(url, `image: ${alt} (${url.host || url.protocol})`)];
}

function anchor(url: URL, ...children: (Node | string)[]): HTMLAnchorElement {
  const a = el("a", "", ...children);
  a.href = url.href;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  a.title = url.href.slice(0, 500);
  return a;
}

/** Where a link may lead: the web and mail, by a whole address; null for anything else. */
function address(href: string): URL | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return null;
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null; // no address: shown as the text that it is
  }
  return ["https:", "http:", "mailto:"].includes(url.protocol) ? url : null;
}

/** The host that a link's text names, if it names one. */
function hostOf(text: string): string | null {
  const host = /(?:^|[\s/@(])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?=[:/?#)\s]|$)/u.exec(text)?.[1];
  return host ? bare(host) : null;
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^www\./, "");
}

/** A long query may carry what the conversation says: the first click shows where it would go. */
export function askBeforeSending(event: Event): void {
  const a = event.target instanceof Element ? event.target.closest("a") : null;
  if (!a || a.dataset["shown"]) return;
  const sent = a.search.length + a.pathname.length;
  if (sent <= LONG_QUERY) return;
  event.preventDefault();
  a.dataset["shown"] = "1";
  const note = el("span", "lmc-host", ` (${a.host}: ${sent} characters go there; click again to open)`);
  note.setAttribute("role", "status");
  a.after(note);
}

function textOfTokens(tokens: Token[]): string {
  return tokens
    .map((token) => {
      const { tokens: inner, text } = token as { tokens?: Token[]; text?: string };
      return inner ? textOfTokens(inner) : decode(text ?? token.raw);
    })
    .join("");
}

export function languageOf(token: Token): string {
  return ((token as Tokens.Code).lang ?? "").replace(/\s.*/s, "");
}

export function codeOf(token: Token): string {
  return (token as Tokens.Code).text.replace(/\n$/, "");
}

const reader = document.createElement("textarea");

/** `&copy;` -> `©`. Only what looks like one reference is ever given to the browser. */
function decode(text: string): string {
  return text.replace(/&(?:#\d{1,7}|#[Xx][\da-fA-F]{1,6}|\w{1,40});/g, (reference) => {
    reader.innerHTML = reference; // no tag can be in it: & # ; letters and digits
    return reader.value;
  });
}

/** Make `old` like `fresh`, and keep what is the same; false when they are different things. */
export function morph(old: Element, fresh: Element): boolean {
  if (old.tagName !== fresh.tagName || old.className !== fresh.className) return false;
  if (old.getAttribute("start") !== fresh.getAttribute("start")) return false;
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  let same = 0;
  while (before[same]?.isEqualNode(after[same] ?? null)) same++;
  const [was, is] = [before[same], after[same]];
  if (was instanceof Element && is instanceof Element && !was.matches(".lmc-codeblock, a") && morph(was, is)) {
    same += 1;
  } else if (was instanceof Text && is instanceof Text) {
    if (is.data.startsWith(was.data)) was.appendData(is.data.slice(was.data.length));
    else was.data = is.data;
    same += 1;
  }
  for (const surplus of before.slice(same)) surplus.remove();
  old.append(...after.slice(same));
  return true;
}

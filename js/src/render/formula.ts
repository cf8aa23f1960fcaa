/**
 * A formula from KaTeX's markup: as MathML, and as KaTeX's own layout.
 *
 * One rule: the markup is not trusted. It is read as XML and built again from lists of elements,
 * attributes and styles; of what is in no list only the text stays.
 */

import { el } from "./rendering";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(
  ("math mrow mi mo mn ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder munderover " +
    "mtable mtr mtd mstyle mpadded mphantom menclose merror mmultiscripts mprescripts none mlabeledtr").split(" "),
);
const ATTRIBUTES = new Set(
  ("display displaystyle scriptlevel mathvariant stretchy fence separator accent accentunder lspace rspace " +
    "minsize maxsize symmetric largeop movablelimits linethickness width height depth voffset notation " +
    "columnalign columnspacing columnlines rowalign rowspacing rowlines frame side form linebreak").split(" "),
);

/** Builds MathML from markup: known elements, known attributes, text. Throws when there is none. */
export function rebuilt(markup: string): Element {
  const parsedXml = new DOMParser().parseFromString(markup, "application/xml");
  const math = parsedXml.getElementsByTagNameNS(MATHML, "math")[0];
  if (!math) throw new Error("This is not a formula.");
  return copyNode(math)[0] as Element; // <math> is in the list
}

const SVG = "http://www.w3.org/2000/svg";
const SVG_ATTRIBUTES = new Set("width height viewBox preserveAspectRatio d x1 x2 y1 y2 stroke-width".split(" "));
const STYLES = new Set(
  ("height width min-width vertical-align position top bottom left right margin margin-left margin-right margin-top " +
    "padding-left padding-right border-width border-style border-color border-bottom-width border-top-width " +
    "border-right-width border-right-style color background-color").split(" "),
);

/** KaTeX's own layout from its markup: spans and drawings, known attributes and styles, text. Throws when there is none. */
export function layout(markup: string): Element {
  const parsedXml = new DOMParser().parseFromString(markup, "application/xml");
  const html = parsedXml.querySelector("span.katex-html");
  if (!html) throw new Error("This is not a formula.");
  const copy = laid(html)[0] as Element; // a span is one of ours
  copy.setAttribute("aria-hidden", "true");
  return copy;
}

function laid(node: Node): Node[] {
  if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode((node as Text).data)];
  if (!(node instanceof Element)) return [];
  const children = [...node.childNodes].flatMap(laid);
  const isDrawing = node.namespaceURI === SVG && /^(?:svg|path|line)$/.test(node.localName);
  if (!isDrawing && node.localName !== "span") return children;
  const copy = isDrawing ? (document.createElementNS(SVG, node.localName) as SVGElement) : el("span");
  for (const { name, value } of node.attributes) {
    if (name === "class" && /^[\w -]{0,200}$/.test(value)) copy.setAttribute("class", value);
    else if (isDrawing && SVG_ATTRIBUTES.has(name) && /^[\w\s.,%-]{0,20000}$/.test(value)) copy.setAttribute(name, value);
    else if (name === "style") dress(copy, value);
  }
  copy.append(...children);
  return [copy];
}

function dress(copy: HTMLElement | SVGElement, css: string): void {
  for (const rule of css.split(";")) {
    const [name = "", value = ""] = rule.split(":").map((each) => each.trim());
    if (STYLES.has(name) && /^[\w .#%+-]{1,60}$/.test(value) && !/fixed|sticky/i.test(value)) {
      copy.style.setProperty(name, value);
    }
  }
}

function copyNode(node: Node): Node[] {
  if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode((node as Text).data)];
  if (!(node instanceof Element) || node.namespaceURI !== MATHML) return [];
  if (node.localName === "annotation") return []; // the source, which is in the message
  const children = [...node.childNodes].flatMap(copyNode);
  if (!ELEMENTS.has(node.localName)) return children;
  const copy = document.createElementNS(MATHML, node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name) && /^[\w .,%#+-]{0,60}$/.test(value)) copy.setAttribute(name, value);
    else if (name === "mathcolor" || name === "mathbackground") {
      if (/^(?:#[0-9a-f]{3,8}|[a-z]{1,30})$/i.test(value)) copy.setAttribute(name, value);
    }
  }
  copy.append(...children);
  return [copy];
}

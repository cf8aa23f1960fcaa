/** What the panel may draw of text that others wrote, as a list. */

import type { Host } from "../src/render/rendering";

export const host: Host = {
  asset: () => Promise.reject(new Error("no typesetter here")),
  openImage: () => undefined,
};

const TAGS = new Set(
  ("div span p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code table thead tbody tr th td a em strong del " +
    "details summary b button wbr").split(" "),
);
const ATTRIBUTES = new Set("class href target rel title start scope role aria-label tabindex dir type".split(" "));

/** What must not be there; empty when all is well. */
export function forbidden(root: Element): string[] {
  const found: string[] = [];
  for (const node of [root, ...root.querySelectorAll("*")]) {
    const tag = node.tagName.toLowerCase();
    if (!TAGS.has(tag)) found.push(`<${tag}>`);
    if (node.namespaceURI !== "http://www.w3.org/1999/xhtml") found.push(`namespace of <${tag}>`);
    for (const { name, value } of node.attributes) {
      const isColour = name === "style" && /^(?:(?:color|background-color|--lmc-ansi): ?rgb\([\d, ]+\);? ?)+$/.test(value);
      if (!ATTRIBUTES.has(name) && !isColour) found.push(`${tag}[${name}]`);
      if (name === "class" && !/^(?:lmc-[\w-]+|[kscnfboh])?(?: lmc-[\w-]+)*$/.test(value)) found.push(`class ${value}`);
      if (name === "href") {
        const isWeb = URL.canParse(value) && ["https:", "http:", "mailto:"].includes(new URL(value).protocol);
        if (!isWeb) found.push(`href ${value}`);
        if (node.getAttribute("rel") !== "noopener noreferrer nofollow") found.push("no rel");
        if (node.getAttribute("target") !== "_blank") found.push("no target");
      }
    }
  }
  return found;
}

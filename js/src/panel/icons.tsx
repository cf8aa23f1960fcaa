/**
 * The icons, 16 px, drawn in the colour of the text around them.
 *
 * One rule: an icon is never the only name of a button; who uses one gives the button a label.
 */

import type { ButtonHTMLAttributes, VNode } from "preact";

import { el } from "../render/rendering";

const PATHS = {
  send: "M8 13V3.5M3.8 7.5 8 3.3l4.2 4.2",
  stop: "M4.5 4.5h7v7h-7z",
  attach: "M13 7.4 7.9 12.5a3.2 3.2 0 0 1-4.5-4.5L8.6 2.8a2.1 2.1 0 0 1 3 3L6.4 11a1 1 0 0 1-1.5-1.5l4.7-4.6",
  microphone: "M8 9.8a2 2 0 0 0 2-2V4.3a2 2 0 0 0-4 0v3.5a2 2 0 0 0 2 2zM3.8 7.6a4.2 4.2 0 0 0 8.4 0M8 11.8v2.4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "M8 3v9.5M3.8 8.5 8 12.7l4.2-4.2",
  up: "M8 13V3.5M3.8 7.5 8 3.3l4.2 4.2",
  caret: "M4.5 6.5 8 10l3.5-3.5",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  insert: "M3 3.5h10v4H3zM8 9.5v4M6 11.5h4",
  replace: "M3 5.5h8.5M9 3l2.5 2.5L9 8M13 10.5H4.5M7 8l-2.5 2.5L7 13",
  edit: "M10.8 3.2l2 2L6 12l-2.6.6L4 10z",
  retry: "M12.5 8a4.5 4.5 0 1 1-1.4-3.3M12.6 2.6v2.6H10",
  undo: "M6 3.5 3 6.5l3 3M3.2 6.5h6a3.3 3.3 0 0 1 0 6.6H7",
  check: "M3.5 8.5l3 3 6-6.5",
  file: "M4.5 2.5h4.5l2.5 2.5v8.5h-7zM8.8 2.7v2.6h2.6",
  eye: "M1.8 8S4 4 8 4s6.2 4 6.2 4S12 12 8 12 1.8 8 1.8 8zM8 9.7a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4z",
  history: "M3.4 8a4.8 4.8 0 1 0 1.5-3.5L3.4 6M3.2 3.2V6H6M8 5.4V8l1.9 1.2",
  plus: "M8 3.5v9M3.5 8h9",
  save: "M8 2.8v7M5 7l3 3 3-3M3 11v2.2h10V11",
  trash: "M3.2 4.5h9.6M6.2 4.3V2.8h3.6v1.5M4.5 4.7l.6 8.5h5.8l.6-8.5M6.7 7v4M9.3 7v4",
  good: "M5.2 7.2v6H3v-6zM5.2 7.4 7.7 2.8c1 0 1.6.7 1.5 1.7l-.4 2.2h3.4c.9 0 1.5.8 1.3 1.6l-.9 3.8c-.2.7-.7 1.1-1.4 1.1h-6",
  bad: "M10.8 8.8v-6H13v6zM10.8 8.6l-2.5 4.6c-1 0-1.6-.7-1.5-1.7l.4-2.2H3.8c-.9 0-1.5-.8-1.3-1.6l.9-3.8c.2-.7.7-1.1 1.4-1.1h6",
  pin: "M5.8 2.8h4.4L9.6 7l2.2 2.2H4.2L6.4 7zM8 9.2v4.3",
  hide: "M1.8 8S4 4 8 4s6.2 4 6.2 4S12 12 8 12 1.8 8 1.8 8zM3.2 13.2 12.8 2.8",
  agent: "M3.5 6h9v7h-9zM8 6V3.2M6.3 9h.01M9.7 9h.01M1.5 8.5v2M14.5 8.5v2",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.3v3.6M8 5.1h.01",
  warning: "M8 2.8 14 13H2zM8 6.5v3.2M8 11.3h.01",
} as const;

export type IconName = keyof typeof PATHS;

const SVG = "http://www.w3.org/2000/svg";

export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class="lmc-icon" viewBox="0 0 16 16" aria-hidden="true" data-icon={name}>
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A button that is an icon: the label is read aloud, and is the tooltip where `title` is no other. */
export function IconButton(props: ButtonHTMLAttributes & { label: string; icon: IconName; css?: string }): VNode {
  const { label, icon, css, ...more } = props;
  return (
    <button type="button" class={`lmc-iconbutton ${css ?? ""}`} aria-label={label} title={label} {...more}>
      <Icon name={icon} />
    </button>
  );
}

/** An icon outside of Preact. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "lmc-icon");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.dataset["icon"] = name;
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** A button that is an icon; a screen reader reads its label. */
export function iconButton(label: string, name: IconName, act: (button: HTMLButtonElement, event: Event) => void): HTMLButtonElement {
  const button = el("button", "lmc-iconbutton");
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  button.append(icon(name));
  button.addEventListener("click", (event) => act(button, event));
  return button;
}

/**
 * Lists to choose from, and layers above the panel.
 *
 * One rule: the focus goes in when a layer opens and back to where it was when it closes; Escape
 * closes it, and goes no further.
 */

import type { ComponentChildren, RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { focusIn } from "../render/rendering";
import { WORDS } from "../words";
import { IconButton } from "./icons";

export interface Option {
  key: string;
  label: string;
  detail: string;
  more?: string;
  selected?: boolean;
}

interface ListProps {
  id: string;
  label: string;
  options: readonly Option[];
  active: number;
  choose(index: number): void;
  hover?(index: number): void;
  /** The element around it is the listbox, since it has the focus itself. */
  bare?: boolean;
}

/** A listbox whose focus is elsewhere: in the field that `aria-activedescendant` belongs to. */
export function OptionList({ id, label, options, active, choose, hover, bare }: ListProps): VNode {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const option = list.current?.children[active];
    if (option && typeof option.scrollIntoView === "function") option.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <ul
      ref={list}
      id={id}
      class="lmc-options"
      role={bare ? "presentation" : "listbox"}
      aria-label={bare ? undefined : label}
      tabIndex={bare ? undefined : 0} // what scrolls can be reached
    >
      {options.map((option, index) => (
        <li
          key={option.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={option.selected ?? index === active}
          class={`lmc-option${index === active ? " active" : ""}`}
          onMouseDown={(event) => event.preventDefault()}
          onMouseMove={() => index !== active && hover?.(index)}
          onClick={() => choose(index)}
        >
          <span class="lmc-option-name">
            <span class="lmc-option-label">{option.label}</span>
            {option.more ? <span class="lmc-option-more"> {option.more}</span> : null}
          </span>
          <span class="lmc-option-detail">{option.detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** The next index for an arrow key, or null for any other key. */
export function moveActive(key: string, active: number, length: number): number | null {
  if (length === 0) return null;
  if (key === "ArrowDown") return (active + 1) % length;
  if (key === "ArrowUp") return (active - 1 + length) % length;
  return null;
}

/** Calls `close` for a press outside of the element; works in a shadow root too. */
export function useOutside(element: RefObject<HTMLElement | null>, close: () => void): void {
  useEffect(() => {
    const root = element.current?.getRootNode() ?? document;
    const onDown = (event: Event) => {
      const target = event.target;
      if (target instanceof Node && !element.current?.contains(target)) close();
    };
    root.addEventListener("pointerdown", onDown, true);
    if (root !== document) document.addEventListener("pointerdown", onDown, true);
    return () => {
      root.removeEventListener("pointerdown", onDown, true);
      document.removeEventListener("pointerdown", onDown, true);
    };
  }, []);
}

interface LayerProps {
  label: string;
  close(): void;
  children: ComponentChildren;
  kind: "dialog" | "image";
  /** Takes the focus when the layer has closed, in place of what had it before. */
  after?: RefObject<(() => void) | null>;
}

const FOCUSABLE =
  ":is(button, input):not([disabled], [tabindex='-1']), [tabindex='0'], a[href]";

/** A modal layer over the whole panel (inside of its root, never in the page's body). */
export function Layer({ label, close, children, kind, after }: LayerProps): VNode {
  const layer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = focusIn(layer.current);
    const first = layer.current?.querySelector<HTMLElement>("[data-focus]");
    (first ?? layer.current?.querySelector<HTMLElement>(".lmc-layer-close"))?.focus();
    return () => {
      if (after?.current) after.current();
      else if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === "Tab" && layer.current) {
      const all = [...layer.current.querySelectorAll<HTMLElement>(FOCUSABLE)];
      const edge = event.shiftKey ? all[0] : all[all.length - 1];
      if (focusIn(layer.current) !== edge) return;
      event.preventDefault();
      (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
    }
  };
  return (
    <div
      ref={layer}
      class={`lmc-layer lmc-layer-${kind}`}
      role="dialog"
      aria-modal="true"
      aria-label={label}
      onKeyDown={onKeyDown}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <IconButton label={WORDS.close} icon="close" css="lmc-layer-close" onClick={close} />
      {children}
    </div>
  );
}

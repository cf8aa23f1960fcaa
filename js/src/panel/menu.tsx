/**
 * A button that opens a menu: the more actions of the composer, the files of a conversation.
 *
 * One rule: the arrows walk through it, Escape closes it and goes no further, and whatever closes
 * it with a key or a choice gives the focus back to its button.
 */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon, type IconName } from "./icons";
import { useOutside } from "./popup";

interface Item {
  label: string;
  hint?: string;
  disabled?: boolean;
  /** Whether it is on; such an item can be switched. */
  checked?: boolean;
  act(event: Event): void;
}

/** Items that belong together; without a label they just stand there. */
interface Group {
  label?: string;
  items: readonly Item[];
}

interface Props {
  label: string;
  icon: IconName;
  groups: readonly Group[];
}

const ITEMS = "[role^=menuitem]:not([disabled])";

export function Menu({ label, icon, groups }: Props): VNode {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useOutside(box, () => setOpen(false));
  useEffect(() => {
    if (open) box.current?.querySelector<HTMLElement>(ITEMS)?.focus();
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      close();
      return;
    }
    const items = [...(box.current?.querySelectorAll<HTMLElement>(ITEMS) ?? [])];
    const at = items.findIndex((item) => item === event.target);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (at < 0 || step === 0) return;
    event.preventDefault();
    items[(at + step + items.length) % items.length]?.focus();
  };
  return (
    <div class="lmc-menu" ref={box} onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        class="lmc-iconbutton"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name={icon} />
      </button>
      {open ? (
        <div class="lmc-popup" role="menu" aria-label={label}>
          {groups.map((group, at) => (
            <div key={at} role="group" aria-label={group.label} class="lmc-menu-group">
              {group.label ? (
                <div class="lmc-menu-label" aria-hidden="true">
                  {group.label}
                </div>
              ) : null}
              {group.items.map((item) => (
                <OneItem key={item.label} item={item} close={close} />
              ))}
            </div>
          ))}
        </div>
      ) : null}
    </div>
  );
}

function OneItem({ item, close }: { item: Item; close(): void }): VNode {
  const { label, hint, checked, disabled, act } = item;
  const switches = checked !== undefined;
  return (
    <button
      type="button"
      role={switches ? "menuitemcheckbox" : "menuitem"}
      aria-checked={switches ? checked : undefined}
      disabled={disabled ?? false}
      onClick={(event) => {
        close();
        act(event);
      }}
    >
      {switches ? <span class="lmc-check">{checked ? <Icon name="check" /> : null}</span> : null}
      <span>
        {label}
        {hint ? <small>{hint}</small> : null}
      </span>
    </button>
  );
}

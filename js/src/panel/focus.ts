/**
 * Where the focus goes when a question comes and when it is answered.
 *
 * One rule: it is taken from the panel itself only, and never from who is writing.
 */

import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * A new question takes the focus only from the panel itself, and its card takes it, never a
 * button (of a program's question, the field); once it is answered the focus goes back to the composer.
 */
export function useCardFocus(root: { current: HTMLElement | null }, open: string | null): void {
  const inCard = useRef(false);
  useLayoutEffect(() => {
    const panel = root.current;
    if (!panel) return;
    const onFocus = ({ target }: FocusEvent) => {
      inCard.current = target instanceof Element && target.closest(".lmc-card") !== null;
    };
    const onBlur = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget instanceof Node && !panel.contains(relatedTarget)) inCard.current = false;
    };
    panel.addEventListener("focusin", onFocus);
    panel.addEventListener("focusout", onBlur);
    return () => {
      panel.removeEventListener("focusin", onFocus);
      panel.removeEventListener("focusout", onBlur);
    };
  }, []);
  useLayoutEffect(() => {
    const panel = root.current;
    const tree = panel?.getRootNode();
    if (!panel || !(tree instanceof Document || tree instanceof ShadowRoot)) return;
    const active = tree.activeElement;
    const input = panel.querySelector<HTMLTextAreaElement>(".lmc-input");
    const lost = active === null || active === panel.ownerDocument.body;
    const wasInCard = inCard.current && lost; // it went with the card that had it
    if (open === null) {
      if (wasInCard) input?.focus({ preventScroll: true });
    } else if (wasInCard || (panel.contains(active) && !(active === input && isWriting(input)))) {
      // who is in the middle of writing goes on writing; the question is announced
      const card = panel.querySelector<HTMLElement>(".lmc-card");
      (card?.querySelector<HTMLElement>("[data-focus]") ?? card)?.focus({ preventScroll: true });
    }
  }, [open]);
}

/** Whether there is text that the person has not sent: what is on its way is still there, too. */
function isWriting(input: HTMLTextAreaElement | null): boolean {
  return input !== null && input.value !== "" && input.value !== input.dataset.sending;
}

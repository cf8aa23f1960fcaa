/**
 * What stands under the last record of a turn that is over: what it took, and what can be done.
 *
 * One rule: it is made from the turn alone, and made anew when that changes.
 */

import type { Turn } from "../protocol";
import { el } from "../render/rendering";
import { count, span, WORDS } from "../words";
import { iconButton } from "./icons";
import type { Acts } from "./row";
import { took } from "./sent";

/**
 * The footer of a turn; the `last` one can be asked again or removed, if it has a question. Of one
 * that ended with code that was stopped, the code says how long that ran.
 */
export function footer(turn: Turn, last: boolean, isStopped: boolean, acts: Acts): HTMLElement {
  const node = el("div", "lmc-turn");
  node.hidden = !turn.over;
  if (!turn.over) return node;
  const facts = took(turn).join(" · ");
  const element = el("span", "lmc-turn-facts", facts);
  if (!isStopped) element.append(el("span", facts ? "lmc-turn-time" : "", `${facts ? " · " : ""}${span(turn.seconds)}`));
  if (facts) node.classList.add("lmc-counted"); // then they have a line of their own
  if (turn.prompt_tokens !== null || turn.completion_tokens !== null) {
    element.title = WORDS.tokensHint(count(turn.prompt_tokens ?? 0), count(turn.completion_tokens ?? 0));
  }
  node.append(element);
  if (turn.requests > 0) {
    const sent = el("button", "lmc-link", WORDS.sent);
    sent.type = "button";
    sent.addEventListener("click", () => acts.sent(turn, sent));
    node.append(sent);
  }
  if (turn.left_out) {
    const note = el("details", "lmc-left-out", el("summary", "", WORDS.leftOut), el("p", "", turn.left_out));
    node.append(note);
  }
  if (last && turn.where !== "agent") {
    const tools = el("span", "lmc-turn-tools");
    tools.append(
      iconButton(WORDS.retry, "retry", () => acts.retry(turn)),
      iconButton(WORDS.undo, "undo", () => acts.undo()),
    );
    node.append(tools);
  }
  return node;
}

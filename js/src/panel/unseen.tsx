/**
 * What a model does not see of an attached image, said before it is sent.
 *
 * One rule: it warns, and sends nothing.
 */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Values } from "../protocol";
import { WORDS } from "../words";
import { SEES } from "./acts";
import { sentenceOf, useHappenings, useShared } from "./context";

/** Says at an attached image that the model will only read about it, and offers to send it anyway. */
export function Unseen(): VNode | null {
  const { conversation, transport, say } = useShared();
  useHappenings(conversation, "configured");
  const [vision, setVision] = useState<Values["vision"]>("");
  const { label } = conversation.settings;
  const look = () => transport.request({ kind: "vision" });
  useEffect(() => {
    let over = false;
    look().then(
      (found) => over || setVision(found),
      (error: unknown) => over || say(sentenceOf(error), "error"),
    );
    return () => {
      over = true;
    };
  }, [label]);
  if (vision !== "unknown" && vision !== "no") return null;
  const sendAnyway = async () => {
    try {
      await transport.request({ kind: "command", line: SEES });
      setVision(await look());
    } catch (error) {
      say(sentenceOf(error), "error");
    }
  };
  return (
    <div class="lmc-incell lmc-row" role="note">
      <span>{vision === "no" ? WORDS.seesNot(label) : WORDS.seesUnknown(label)}</span>
      {vision === "unknown" ? (
        <button type="button" class="lmc-button" onClick={() => void sendAnyway()}>
          {WORDS.sendAnyway}
        </button>
      ) : null}
    </div>
  );
}

// The state line with Stop, and the question with Run, Edit and Don't run.
//
// One rule: only a real click of a person decides, and nothing here is HTML made from text:
// code arrives as tokens and is drawn with textContent.

const freshId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

function element(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

async function kernelOf(model) {
  try {
    const whole = await model.widget_manager.get_model(model.get("own_id"));
    return whole.widget_manager.kernel ?? null;
  } catch {
    return null; // a front end that does not show its kernel: the comm is the way
  }
}

// Tell the kernel, by two ways at once: the control channel is read while a cell runs, the comm
// exists everywhere. The kernel takes the first and knows the second by its id.
async function tell(model, content) {
  const message = { ...content, id: freshId() };
  const kernel = await kernelOf(model);
  for (let tries = 0; tries < 5; tries++) {
    const said = acknowledged(model, message.id);
    model.send(message);
    if (kernel) {
      const sent = kernel.sendControlMessage(
        {
          header: {
            date: new Date().toISOString(), msg_id: freshId(), msg_type: "lmc_request",
            session: kernel.clientId, username: kernel.username, version: "5.3",
          },
          parent_header: {}, metadata: {}, buffers: [], channel: "control",
          content: { comm_id: model.get("own_id"), content: message },
        },
        true, true,
      );
      sent.done.then(said.yes, () => undefined); // a lost reply: the next try says it again
    }
    if (await said.heard) return true;
  }
  return false;
}

function acknowledged(model, id) {
  let yes;
  const heard = new Promise((resolve) => {
    const on = (m) => m.kind === "ack" && m.of === id && yes();
    const timer = setTimeout(() => { model.off("msg:custom", on); resolve(false); }, 1500);
    yes = () => { clearTimeout(timer); model.off("msg:custom", on); resolve(true); };
    model.on("msg:custom", on);
  });
  return { heard, yes };
}

// Seconds for a person: 3.2 s, 48 s, 2 min 05 s.
function span(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

const STATES = {
  thinking: "Thinking…", writing: "Writing…", waiting: "Waiting for you", running: "Running…",
  done: "Done", stopped: "Stopped", failed: "Failed",
};

function renderBar({ model, el, signal }) {
  const dot = element("span", { className: "lmc-dot live" });
  const state = element("b", { textContent: STATES.thinking });
  const time = element("span");
  const label = element("span");
  const stop = element("button", { type: "button", textContent: "Stop", title: "Stop this answer; what there is stays" });
  const bar = element("div", { className: "lmc-bar" }, dot, state, time, label, stop);
  bar.setAttribute("role", "status");
  let since = performance.now();
  const tick = () => { time.textContent = span((performance.now() - since) / 1000); };
  const timer = setInterval(tick, 100);
  signal?.addEventListener("abort", () => clearInterval(timer));
  stop.onclick = (event) => {
    if (!event.isTrusted) return;
    stop.disabled = true;
    stop.textContent = "Stopping…";
    tell(model, { kind: "stop" }).then((heard) => {
      if (!heard) { stop.disabled = false; stop.textContent = "Stop"; }
    });
  };
  model.on("msg:custom", (m) => {
    if (m.kind !== "state") return;
    since = performance.now() - m.elapsed * 1000;
    state.textContent = m.note || STATES[m.state] || m.state;
    label.textContent = m.label;
    dot.className = `lmc-dot ${m.state} ${m.state === "waiting" ? "" : "live"}`;
    tick();
  });
  el.append(element("div", { className: "lmc lmc-live" }, bar));
}

function drawCode(lines) {
  const code = element("code");
  lines.forEach((line, index) => {
    if (index) code.append("\n");
    for (const [css, text] of line) code.append(css ? element("span", { className: css, textContent: text }) : text);
  });
  return element("pre", {}, code);
}

const INERT_MS = 400; // a click meant for what was here before must not decide

function renderAsk({ model, el, signal }) {
  const card = element("div", { className: "lmc-code" });
  card.setAttribute("role", "group");
  el.append(element("div", { className: "lmc lmc-live" }, card));
  let shown = null;

  function draw(m) {
    if (shown === m.proposal) return;
    shown = m.proposal;
    card.setAttribute("aria-label", `Run this ${m.language} code?`);
    card.dataset.proposal = m.proposal;
    const count = `${m.lines.length} line${m.lines.length === 1 ? "" : "s"}`;
    const head = element("div", { className: "lmc-head" },
      element("b", { textContent: m.language }), element("span", { textContent: count }),
      element("span", { textContent: "waits for you" }));
    const warning = m.warning ? element("div", { className: "lmc-warn", textContent: m.warning }) : null;
    const body = element("div", {}, drawCode(m.lines));
    const run = element("button", { type: "button", className: "run", textContent: "Run" });
    const edit = element("button", { type: "button", textContent: "Edit" });
    const decline = element("button", { type: "button", textContent: "Don't run" });
    const reason = element("input", { type: "text", placeholder: "Why not? (the model is told)", maxLength: 500 });
    reason.setAttribute("aria-label", "Reason for not running it");
    const ask = element("div", { className: "lmc-ask" }, run, edit, decline, reason);
    ask.setAttribute("data-lm-suppress-shortcuts", "true"); // else Shift+Enter runs the notebook cell
    body.setAttribute("data-lm-suppress-shortcuts", "true");
    const buttons = [run, edit, decline];
    const inert = (value) => { for (const button of buttons) button.disabled = value; };
    inert(true);
    const timer = setTimeout(() => { inert(false); card.dataset.ready = "1"; }, INERT_MS);
    signal?.addEventListener("abort", () => clearTimeout(timer));
    let area = null;

    async function decide(event, answer) {
      if (!event.isTrusted) return;
      inert(true);
      const heard = await tell(model, { kind: "decision", proposal: m.proposal, digest: m.digest, ...answer });
      if (!heard) { inert(false); head.lastChild.textContent = "the kernel did not answer: press again"; }
    }
    run.onclick = (event) => decide(event, area ? { decision: "run", code: area.value } : { decision: "run" });
    decline.onclick = (event) => decide(event, { decision: "decline", reason: reason.value.trim() });
    edit.onclick = (event) => {
      if (!event.isTrusted) return;
      if (area) {
        area = null;
        body.replaceChildren(drawCode(m.lines));
        edit.textContent = "Edit";
        run.textContent = "Run";
        return;
      }
      area = element("textarea", { value: m.code, spellcheck: false, rows: Math.min(30, m.lines.length + 1) });
      area.setAttribute("aria-label", "The code, to edit");
      body.replaceChildren(area);
      area.focus();
      edit.textContent = "Undo edit";
      run.textContent = "Run edited";
    };
    card.replaceChildren(...[head, warning, body, ask].filter((node) => node));
  }

  model.on("msg:custom", (m) => m.kind === "ask" && draw(m));
}

export default {
  initialize({ model }) {
    model.send({ kind: "hello", id: freshId() });
  },
  render(context) {
    (context.model.get("kind") === "bar" ? renderBar : renderAsk)(context);
    tell(context.model, { kind: "ready" });
  },
};

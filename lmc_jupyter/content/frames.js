/**
 * What runs in the two frames around HTML and JavaScript of others; Python and TypeScript use it.
 *
 * One rule: a page of the past runs nothing until a person presses the button, and no page keeps
 * what would make the browser go to an address by itself.
 *
 * The functions are put into the frames as text: each uses nothing of this module.
 *
 * @typedef {object} Shown
 * @property {string} page HTML
 * @property {string} head of its document, after the policy
 * @property {string} policy of its document
 * @property {Record<string, string>} attributes of both frames: what they may do
 * @property {string} prelude a script that runs before anything of the page
 * @property {string} [token] of who listens
 * @property {boolean} [isStill] nothing of it runs until the button is pressed
 * @property {string} [picture] HTML: how it looked when it ran; it stands there until then
 */

/**
 * In the outer frame: makes the inner one, and passes on what they say.
 *
 * @param {Shown} shown
 */
export function outer({ page, head, policy, attributes, prelude, token, isStill = false, picture = "" }) {
  /** @param {object} message */
  const tell = (message) => token && parent.postMessage({ ...message, lmc: token }, "*");
  /** @param {string} text */
  const blocked = (text) => tell({ say: "error", text: `blocked: ${text} (frame-src; there is no network here)` });
  let hasScripts = false;

  /** @param {string} address */
  const host = (address) => {
    try {
      return new URL(address).origin;
    } catch {
      return address.slice(0, 200);
    }
  };

  /** Stands before what is read, here and in each frame: behind a body no text begins a frameset. */
  const start = "<!doctype html><body>";

  /**
   * Take away what goes to an address by itself, and the scripts of a page that is still.
   *
   * @param {ParentNode} root
   * @param {boolean} isQuiet nothing is said of it, and its scripts go
   * @param {number} depth
   * @returns {number} how much that was
   */
  const clean = (root, isQuiet, depth) => {
    let count = 0;
    for (const node of root.querySelectorAll("noscript")) {
      node.remove(); // its words are elements here and text in the frame: what is checked must be what is loaded
      count += 1;
    }
    for (const node of root.querySelectorAll("*")) {
      const name = node.localName.toLowerCase();
      const rel = node.getAttribute("rel") ?? "";
      const address = node.getAttribute("src") ?? node.getAttribute("href") ?? node.getAttribute("content") ?? "";
      const rule = (node.getAttribute("type") ?? "").trim().toLowerCase() === "speculationrules";
      const isHint =
        (name === "link" && /\b(?:dns-prefetch|preconnect|prefetch|prerender)\b/i.test(rel)) ||
        (name === "meta" && /^\s*(?:refresh|x-dns-prefetch-control)\s*$/i.test(node.getAttribute("http-equiv") ?? ""));
      if (node instanceof HTMLTemplateElement) count += clean(node.content, isQuiet, depth);
      if (isHint || (name === "script" && (rule || isQuiet)) || /^(?:fencedframe|portal)$/.test(name)) {
        if (isHint && !isQuiet) blocked(host(address));
        if (name === "script") hasScripts = true;
        node.remove();
        count += 1;
        continue;
      }
      if (name === "iframe" || name === "frame") {
        if (node.hasAttribute("src") && !/^(?:about:blank)?$/i.test(address.trim())) {
          if (!isQuiet) blocked(host(address));
          node.removeAttribute("src");
          count += 1;
        }
        const inside = node.getAttribute("srcdoc");
        if (inside !== null) {
          const bare = inside.startsWith(start) ? inside.slice(start.length) : inside;
          const text = start + (depth < 3 ? cleaned(bare, isQuiet, depth + 1) : "");
          if (text !== inside) count += 1;
          node.setAttribute("srcdoc", text);
        }
      }
      if (!isQuiet) continue;
      for (const each of node.getAttributeNames()) {
        if (!/^on/i.test(each)) continue;
        hasScripts = true;
        node.removeAttribute(each);
        count += 1;
      }
    }
    return count;
  };

  /**
   * The page as it may be loaded; "" for one that is another page each time it is read.
   *
   * @param {string} html
   * @param {boolean} isQuiet
   * @param {number} depth
   * @returns {string}
   */
  const cleaned = (html, isQuiet, depth = 0) => {
    let text = html;
    for (let round = 0; round < 6; round++) {
      const read = new DOMParser().parseFromString(start + text, "text/html");
      if (!clean(read, isQuiet, depth)) return text;
      text = read.documentElement.outerHTML;
    }
    return "";
  };

  /** @type {HTMLIFrameElement | null} */
  let inner = null;
  /** @type {HTMLElement | null} */
  let bar = null;
  /**
   * @param {string} body
   * @param {string} rules
   * @param {string} nonce
   */
  const show = (body, rules, nonce) => {
    const frame = document.createElement("iframe");
    for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value);
    frame.title = "HTML output";
    frame.srcdoc =
      `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${rules}">` +
      `<meta http-equiv="x-dns-prefetch-control" content="off"><meta name="referrer" content="no-referrer">` +
      `${head}<script${nonce && ` nonce="${nonce}"`}>${prelude}<\/script><body>${body}`;
    if (inner) inner.replaceWith(frame);
    else document.body.append(frame);
    inner = frame;
  };
  const run = () => show(cleaned(page, false), policy, "");

  addEventListener("message", ({ source, data }) => {
    if (inner && source === inner.contentWindow) {
      const height = typeof data?.height === "number" && bar ? data.height + bar.offsetHeight : data?.height;
      parent.postMessage(height === data?.height ? data : { ...data, height }, "*");
    }
    if (inner && source === parent) inner.contentWindow?.postMessage(data, "*");
  });
  let isGone = false;
  addEventListener("securitypolicyviolation", ({ blockedURI }) => {
    if (isGone) return; // it is told twice
    isGone = true;
    tell({ say: "error", text: `blocked: the page tried to go to ${blockedURI}` });
    tell({ gone: 1 });
  });
  if (!isStill) {
    run();
    return;
  }
  const plain = cleaned(page, true);
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const rules = policy.replace("'unsafe-inline' 'unsafe-eval'", `'nonce-${nonce}'`);
  if (rules === policy) throw new Error("the policy allows scripts in a way that is not known here");
  if (hasScripts) {
    bar = document.createElement("p");
    const again = document.createElement("button");
    again.textContent = picture ? "Run again" : "Run its scripts";
    again.title = "Runs the scripts of this page, without network and without your notebook";
    again.addEventListener("click", ({ isTrusted }) => {
      if (!isTrusted) return;
      bar?.remove();
      bar = null;
      run();
    });
    bar.append(again, picture ? "This is how it looked when it ran." : "Its scripts have not run here.");
    document.body.append(bar);
  }
  show(picture ? cleaned(picture, true) : plain, rules, nonce);
}

/** In the inner frame, before anything of the page: what has no policy is taken away. */
export function before() {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
    try {
      Object.defineProperty(window, name, { value: undefined, configurable: false, writable: false });
    } catch {
      // it is not there to be taken away
    }
  }
  /** @param {Element} link */
  const refuse = (link) => {
    const address = link.getAttribute("href") ?? link.getAttribute("xlink:href") ?? "";
    if (address.startsWith("#")) document.getElementById(decodeURIComponent(address.slice(1)))?.scrollIntoView();
    else dispatchEvent(new CustomEvent("lmc-blocked", { detail: address }));
  };
  const press = HTMLElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () {
    if (this.isConnected) press.call(this);
    else refuse(this); // nobody hears a click on what stands nowhere
  };
  for (const kind of ["click", "auxclick"]) {
    addEventListener(
      kind,
      (event) => {
        const link = event.composedPath().find((each) => each instanceof Element && /^(?:a|area)$/.test(each.localName));
        if (!(link instanceof Element)) return;
        const address = link.getAttribute("href") ?? link.getAttribute("xlink:href");
        if (address === null || /^\s*javascript:/i.test(address)) return;
        event.preventDefault();
        refuse(link);
      },
      true,
    );
  }
}

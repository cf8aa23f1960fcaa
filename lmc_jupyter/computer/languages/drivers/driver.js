// What runs inside node: it reads blocks, evaluates them, and says what came of them.
// One rule: the thread that evaluates may be busy for ever, so a second one reads what we are
// told, and can end what the first one does.
//
// Started with the numbers of two descriptors: orders come on the first ("<word> <id> <bytes>\n"
// and so many bytes), frames go out on the second (a line: token and JSON). Behind every frame a
// mark goes to the console, so that the reader knows which output came before it. The token comes
// with the first order; it is in no environment and no argument.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { Session } = require('node:inspector');

/** Places in the memory that both threads share: the id of the block that is to stop, the id of the
 * last one of which the evaluating thread knows that it is to stop, whether the reading thread is
 * about to end what the other one does, and whether it has let go of the inspector. */
const ASKED = 0, HEARD = 1, ENDING = 2, FREE = 3;
/** Milliseconds after which an evaluating thread that has not heard of a stop counts as busy. */
const BUSY = 25;

if (isMainThread) evaluate(); else read();

// The thread that reads ---------------------------------------------------------------------------

function read() {
  const { Socket } = require('node:net');
  const session = new Session();
  session.connectToMainThread();
  let bytes = Buffer.alloc(0);

  const socket = new Socket({ fd: workerData.orders, readable: true, writable: false });
  socket.on('data', data => {
    bytes = bytes.length ? Buffer.concat([bytes, data]) : data;
    for (;;) {
      const end = bytes.indexOf(10);
      if (end < 0) return;
      const [word, id, size] = bytes.subarray(0, end).toString().split(' ');
      if (bytes.length < end + 1 + Number(size)) return;
      const text = bytes.subarray(end + 1, end + 1 + Number(size)).toString();
      bytes = bytes.subarray(end + 1 + Number(size));
      const order = { word, id: Number(id), text };
      if (word === 'stop') stop(order); else parentPort.postMessage(order);
    }
  });
  // Nobody speaks to us any more: whoever started node has gone.
  const gone = () => process.kill(-process.pid, 'SIGKILL');
  socket.on('end', gone).on('error', gone);

  parentPort.on('message', () => {
    session.disconnect();
    Atomics.store(workerData.shared, FREE, 1);
    Atomics.notify(workerData.shared, FREE);
  });

  function stop(order) {
    const { shared } = workerData;
    Atomics.store(shared, ASKED, order.id);
    parentPort.postMessage(order);
    setTimeout(() => {
      if (Atomics.exchange(shared, ENDING, 1)) return; // it is on its way already
      const done = () => {
        Atomics.store(shared, ENDING, 0);
        Atomics.notify(shared, ENDING);
      };
      // Said before it is looked: so either we see that the other thread has heard, or it sees
      // that it will be ended, and waits for that where it does no harm.
      if (Atomics.load(shared, HEARD) >= order.id) done();
      else session.post('Runtime.terminateExecution', done);
    }, BUSY);
  }
}

// The thread that evaluates -----------------------------------------------------------------------

function evaluate() {
  const fs = require('node:fs'), path = require('node:path'), util = require('node:util');
  const vm = require('node:vm'), modules = require('node:module');
  const { Readable, Writable } = require('node:stream'), { AsyncLocalStorage, createHook } = require('node:async_hooks');
  const { pathToFileURL } = require('node:url');
  const { writeSync } = fs, { stringify } = JSON, { isPromise, isNativeError } = util.types;
  // As they are now: the code may change them.
  const { inspect } = util, { load, wait } = Atomics, { from } = Buffer, { apply } = Reflect;
  const { then } = Promise.prototype, { assign, create } = Object;
  const [orders, out] = process.argv.splice(1, 3).slice(1).map(Number);
  const [major, minor] = process.versions.node.split('.').map(Number);
  const shared = new Int32Array(new SharedArrayBuffer(16));
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const MAX_FRAME = 48e6, MAX_FRAMES_OF_ERROR = 6;
  const INSPECT = { depth: 2, maxArrayLength: 100, maxStringLength: 10_000 };

  // Writing ---------------------------------------------------------------------------------------

  let token = '', frames = 0, current = null;

  /** All of it, at once: a process that never comes to rest is heard all the same. */
  function put(fd, text) {
    const data = typeof text === 'string' ? from(text) : text;
    for (let at = 0; at < data.length;) {
      try {
        at += writeSync(fd, data, at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error; // a child of node makes our pipe its own way
        wait(pause, 0, 0, 1);
      }
    }
  }

  function frame(about) {
    const it = assign(create(null), about, { n: ++frames }); // the code may give objects a toJSON
    put(out, `\n${token}${stringify(it)}\n`);
    try {
      put(1, `\x1e${token}:${frames}\x1e`);
    } catch { /* the code has closed its console: the reader does without the mark */ }
  }

  // A block that was stopped ----------------------------------------------------------------------
  // It may wait for something, and go on when that comes: then it can neither print nor wait any
  // more. From node 24 on it is known of everything which block it belongs to. Before, node would
  // watch every promise for that, and die when a loop of them is ended (measured): there it is the
  // block whose timer ran last.

  const options = [...process.execArgv, process.env.NODE_OPTIONS].join(' ');
  const context = major >= 24 && !options.includes('no-async-context-frame') ? new AsyncLocalStorage() : null;
  const soon = setImmediate, never = () => new Promise(() => {});
  let running = null;

  class Stopped extends Error {}
  const owner = () => context ? context.getStore() : running;

  function within(block, go) {
    running = block;
    if (context) context.run(block, go); else go();
  }

  function unlessStopped() {
    if (owner()?.stopped) throw new Stopped('the block was stopped');
  }

  const timers = require('node:timers'), waiting = require('node:timers/promises');
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
    const original = timers[name], clear = timers[name.replace('set', 'clear')];
    const ours = { [name](callback, ...more) {
      if (typeof callback !== 'function') return original(callback, ...more);
      const block = owner();
      const timer = original(function (...args) {
        if (block?.stopped) return clear(timer);
        running = block;
        return callback.apply(this, args);
      }, ...more);
      if (block?.stopped) clear(timer);
      return timer;
    } }[name];
    const promised = original[util.promisify.custom];
    if (promised) {
      waiting[name] = (...args) => {
        const block = owner();
        return block?.stopped ? never() : new Promise((give, refuse) => promised(...args).then(value => {
          running = block;
          if (!block?.stopped) give(value);
        }, refuse));
      };
      Object.defineProperty(ours, util.promisify.custom, { configurable: true, value: waiting[name] });
    }
    globalThis[name] = timers[name] = ours;
  }
  const { setInterval: ticks } = waiting;
  waiting.setInterval = async function* (...args) {
    const block = owner();
    for await (const value of ticks(...args)) {
      if (block?.stopped) await never();
      running = block;
      yield value;
    }
  };
  modules.syncBuiltinESMExports();

  // The console -----------------------------------------------------------------------------------

  function stream(fd) {
    const it = new Writable({
      write(chunk, _encoding, done) { put(fd, chunk); done(); },
    });
    it.write = (chunk, encoding, done) => {
      unlessStopped();
      put(fd, typeof chunk === 'string' && typeof encoding === 'string' ? from(chunk, encoding) : chunk);
      const called = typeof encoding === 'function' ? encoding : done;
      if (typeof called === 'function') process.nextTick(called);
      return true;
    };
    it.destroy = it.destroySoon = () => it;
    return Object.assign(it, { fd, _type: 'pipe' });
  }
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    const value = stream(fd);
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => value });
  }
  const { stdout, stderr } = process;
  const before = globalThis.console;
  globalThis.console = new before.Console({ stdout, stderr, colorMode: false });
  for (const name of Object.keys(before)) globalThis.console[name] ??= before[name];

  // Nobody is at a keyboard: whoever reads is at the end at once, in each block anew.
  let stdin = [];
  Object.defineProperty(process, 'stdin', { configurable: true, enumerable: true, get: () => {
    if (stdin[0] !== current) stdin = [current, Object.assign(new Readable({ read() { this.push(null); } }), { fd: 0 })];
    return stdin[1];
  } });
  const readline = require('node:readline'), asking = readline.Interface.prototype;
  const { question } = asking, asked = readline.promises.Interface.prototype.question;
  asking.question = function (query, ...more) {
    const answer = more.at(-1);
    if (typeof answer === 'function') {
      const unanswered = () => answer('');
      this.once('close', unanswered);
      more.splice(-1, 1, text => { this.off('close', unanswered); answer(text); });
    }
    return question.call(this, query, ...more);
  };
  readline.promises.Interface.prototype.question = function (...args) {
    return new Promise((give, refuse) => {
      asked.apply(this, args).then(give, refuse);
      this.once('close', () => give(''));
    });
  };

  // What a block finds ----------------------------------------------------------------------------

  const here = name => path.join(process.cwd(), name);
  const hidden = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true });
  const lazy = (name, get) => Object.defineProperty(globalThis, name, {
    configurable: true, get, set: value => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true }),
  });
  lazy('require', () => modules.createRequire(here('block.js')));
  lazy('__dirname', () => process.cwd());
  lazy('__filename', () => here('block.js'));
  lazy('module', () => module);
  lazy('exports', () => module.exports);

  const BYTES = [['image/png', '89504e47'], ['image/jpeg', 'ffd8ff'], ['image/gif', '47494638']];

  function bundle(value) {
    const told = value?.[Symbol.for('Jupyter.display')];
    if (typeof told === 'function') return bundle(told.call(value));
    if (value instanceof Uint8Array) {
      const begin = from(value.subarray(0, 4)).toString('hex');
      const found = BYTES.find(([, magic]) => begin.startsWith(magic));
      return found ? { [found[0]]: value } : { 'text/plain': inspect(value, INSPECT) };
    }
    const mimes = value && typeof value === 'object' ? Object.keys(value) : [];
    if (mimes.length && mimes.every(mime => /^[\w.+-]+\/[\w.+-]+/.test(mime))) return value;
    return { 'text/plain': typeof value === 'string' ? value : inspect(value, INSPECT) };
  }

  function show(value) {
    unlessStopped();
    const data = create(null);
    for (const [mime, part] of Object.entries(bundle(value))) {
      data[mime] = part instanceof Uint8Array
        ? from(part.buffer, part.byteOffset, part.byteLength).toString(mime.startsWith('text/') ? 'utf8' : 'base64')
        : part;
    }
    const size = stringify(data).length;
    if (size > MAX_FRAME) throw new RangeError(`display: ${size} characters are too many, at most ${MAX_FRAME}`);
    frame({ t: 'display', data });
  }
  Object.assign(globalThis, {
    display: (...values) => values.forEach(show),
    html: text => show({ 'text/html': String(text) }),
  });

  // Imports ---------------------------------------------------------------------------------------

  let importer = [];
  hidden('__lmc_import', async (specifier, names, options) => {
    const file = here('block.mjs');
    if (importer[0] !== file) {
      importer = [file, new vm.Script('(specifier, options) => import(specifier, options)', {
        filename: file, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      }).runInThisContext()];
    }
    if (!Array.isArray(names)) return importer[1](specifier, names);
    const found = await importer[1](specifier, options);
    for (const name of names) {
      if (!(name in found)) throw new SyntaxError(`the module '${specifier}' does not export '${name}'`);
    }
    return found;
  });
  lazy('__lmc_meta', () => ({
    url: pathToFileURL(here('block.mjs')).href, filename: here('block.mjs'), dirname: process.cwd(),
    resolve: name => {
      const found = modules.createRequire(here('block.mjs')).resolve(name);
      return path.isAbsolute(found) ? pathToFileURL(found).href : found;
    },
  }));

  // Errors ----------------------------------------------------------------------------------------

  /** An error in a few lines: what it says, and the lines of blocks that it came through. */
  function described(error, id, depth = 0) {
    if (!isNativeError(error) && !(error instanceof Error)) return `Uncaught ${inspect(error, INSPECT)}`;
    const lines = String(error.stack ?? '').split('\n');
    const first = lines.findIndex(line => /^\s+at /.test(line));
    const said = `${error.name ?? 'Error'}: ${error.message ?? ''}`.replace(/: $/, '');
    const head = lines.slice(0, first < 0 ? lines.length : first).join('\n') || said;
    // a message that was changed after the stack was made
    const parts = [head.includes(String(error.message ?? '')) ? head : said];
    const walked = first < 0 ? [] : lines.slice(first).map(line => at(line, id));
    const shown = walked.filter((line, index) => line?.own || (line && index === 0));
    parts.push(...shown.slice(0, MAX_FRAMES_OF_ERROR).map(line => line.text));
    if (shown.length > MAX_FRAMES_OF_ERROR) parts.push(`    … ${shown.length - MAX_FRAMES_OF_ERROR} more`);
    for (const inner of depth < 3 && Array.isArray(error.errors) ? error.errors.slice(0, 3) : []) {
      parts.push(`One of them: ${described(inner, id, depth + 1)}`);
    }
    if (error.cause !== undefined && depth < 3) parts.push(`Caused by: ${described(error.cause, id, depth + 1)}`);
    return parts.join('\n');
  }

  /** A line of a stack as it is shown; null when it is node's or ours. */
  function at(line, id) {
    const name = /at (?:async )?(.*?) \(/.exec(line)?.[1] ?? '';
    const own = /\bblock-(\d+):(\d+):\d+/.exec(line);
    if (own) {
      const where = Number(own[1]) === id ? `line ${own[2]}` : `block ${own[1]}, line ${own[2]}`;
      return { own: true, text: name ? `    at ${name} (${where})` : `    at ${where}` };
    }
    const other = /[ (]((?:file:\/\/|\/|[A-Z]:\\).*:\d+):\d+\)?$/.exec(line);
    if (!other || other[1].startsWith(__filename)) return null;
    return { own: false, text: `    at ${name} (${other[1]})` };
  }

  /** Of code that could not even be read: where, and that line. */
  function unread(details, code) {
    // What ends too early is said to be behind the end, in a line that nobody has written.
    const lines = code.trimEnd().split('\n');
    const number = Math.min(details.lineNumber, lines.length - 1), text = lines[number];
    return `    at line ${number + 1}${text.trim() ? `: ${text.trim().slice(0, 200)}` : ''}`;
  }

  process.on('uncaughtException', error => {
    if (!(error instanceof Stopped)) put(1, `Uncaught in the background: ${described(error)}\n`);
  });
  process.on('unhandledRejection', error => {
    if (!(error instanceof Stopped)) put(1, `Unhandled rejection: ${described(error)}\n`);
  });
  process.on('SIGINT', () => {}); // meant for the programs that a block runs

  // Blocks ----------------------------------------------------------------------------------------

  const session = new Session();
  session.connect();
  // A block is the first promise that it makes. It is kept while the inspector waits for it: one
  // that waits for nothing would be collected, and node 24 dies as it tells us so (measured).
  const kept = new Set();
  let grabbed, first = null;
  const promises = createHook({ init(_id, type, _trigger, promise) {
    if (type === 'PROMISE') first ??= promise;
  } });
  const grab = `__lmc_${require('node:crypto').randomBytes(8).toString('hex')}`;
  hidden(grab, value => { grabbed = value; });

  function cwd() {
    try {
      return process.cwd();
    } catch {
      return null; // somebody has removed it
    }
  }

  function end(block) {
    if (block.ended) return;
    block.ended = true;
    if (current === block) current = null;
    frame({ t: 'done', id: block.id, cwd: cwd() });
  }

  function fail(block, text) {
    if (block.ended) return;
    if (load(shared, ASKED) !== block.id) frame({ t: 'error', text });
    end(block);
  }

  function give(block, value) {
    if (block.ended) return;
    try {
      if (value !== undefined) {
        if (typeof value?.[Symbol.for('Jupyter.display')] === 'function') show(value);
        else frame({ t: 'result', text: inspect(value, INSPECT) });
      }
      soon(() => end(block)); // a promise that was refused is told of in the block that made it
    } catch (error) {
      fail(block, described(error, block.id));
    }
  }

  function begin({ word, id, text }) {
    const block = current = { id, ended: false, stopped: false };
    frame({ t: 'begin', id });
    let code = text;
    try {
      if (word === 'types') code = stripped(code);
    } catch (error) {
      const line = /^[^\n]*:(\d+)\n/.exec(error.stack)?.[1];
      return fail(block, `${error.name}: ${error.message}${line ? `\n    at line ${line}` : ''}`);
    }
    code = withoutImports(code);
    const parameters = {
      expression: `${code}\n//# sourceURL=block-${id}`,
      replMode: true, awaitPromise: true, objectGroup: 'block',
    };
    first = null;
    promises.enable();
    within(block, () => session.post('Runtime.evaluate', parameters, (error, done) => {
      promises.disable();
      kept.delete(block.promise);
      if (block.ended) return;
      if (error?.message.includes('destroyed')) return; // it is the end of node
      if (error) fail(block, String(error.message));
      else settle(block, done, text);
    }));
    promises.disable();
    if (first && !block.ended) kept.add(block.promise = first);
    if (!first && !block.ended) { // the inspector was asked and does not know it
      put(1, 'node can evaluate nothing any more: the code has changed what node itself uses, '
        + 'such as Object.prototype.toJSON\n');
      process.reallyExit(70);
    }
  }

  function settle(block, { result, exceptionDetails: details }, code) {
    if (details && load(shared, ASKED) === block.id) return end(block);
    const value = taken(details ? details.exception ?? { value: details.text } : result);
    session.post('Runtime.releaseObjectGroup', { objectGroup: 'block' });
    if (details) {
      let text = described(value, block.id);
      const ran = /\bblock-\d+:\d/.test(String(value?.stack));
      if (value instanceof SyntaxError && !ran) text += `\n${unread(details, code)}`;
      return fail(block, text);
    }
    if (!isPromise(value)) return give(block, value);
    // `main()` at the end of a block: the block is what it waits for
    within(block, () => apply(then, value, [
      result => give(block, result), error => fail(block, described(error, block.id)),
    ]));
  }

  /** The value itself of what the inspector only tells about. */
  function taken({ objectId, unserializableValue, value }) {
    grabbed = undefined;
    const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
    session.post('Runtime.callFunctionOn', {
      functionDeclaration: `function (value) { globalThis.${grab}(value) }`,
      executionContextId: 1, arguments: [argument],
    });
    const it = grabbed;
    grabbed = undefined;
    return it;
  }

  function stop(id) {
    Atomics.store(shared, HEARD, id);
    if (current?.id === id) {
      current.stopped = true;
      running = null;
      end(current);
    } else {
      frame({ t: 'done', id, cwd: cwd() }); // whoever asks may have missed it
    }
    // An end that is on its way would hit whatever runs next: it is to hit this.
    while (load(shared, ENDING)) wait(shared, ENDING, 1, 1);
  }

  function stripped(code) {
    const strip = modules.stripTypeScriptTypes;
    if (typeof strip !== 'function') {
      throw new TypeError(`node ${process.version} does not know TypeScript: 22.13 or newer does`);
    }
    try {
      return strip(code);
    } catch (error) {
      if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error;
      return strip(code, { mode: 'transform' }); // enums and the like are code, not only types
    }
  }

  if (major < 20 || (major === 20 && minor < 12)) {
    put(2, `node ${process.version} is too old: 20.12 or newer is needed\n`);
    process.exit(1);
  }
  const words = {
    token: ({ text }) => {
      token = text;
      frame({ t: 'ready', version: process.version });
    },
    run: begin,
    types: begin,
    stop: ({ id }) => stop(id),
  };
  const reader = new Worker(__filename, { workerData: { orders, shared } })
    .on('message', order => words[order.word](order))
    .on('error', error => { put(2, `${inspect(error)}\n`); process.exit(1); });
  process.on('exit', () => { // else node says that it waits for a debugger
    reader.postMessage('free');
    wait(shared, FREE, 0, 500);
  });
}

// Imports, rewritten ------------------------------------------------------------------------------
// What the inspector evaluates is no module: `import` is none of its words. So the code is cut into
// tokens, and every import becomes a call; strings, templates, comments and regular expressions
// stay what they are, and every line stays where it is.

function withoutImports(code) {
  if (!/\bimport\b/.test(code)) return code;
  const tokens = cut(code);
  let text = '', done = 0;
  const replace = (start, end, by) => {
    const lost = code.slice(start, end).split('\n').length - by.split('\n').length;
    text += code.slice(done, start) + by + '\n'.repeat(Math.max(0, lost));
    done = end;
  };
  for (let i = 0; i < tokens.length; i++) {
    const it = tokens[i], next = tokens[i + 1], last = tokens[i - 1];
    if (it.text !== 'import' || it.kind !== 'word' || !next || ['.', '?.'].includes(last?.text)) continue;
    if (next.text === '(') {
      const close = tokens.findIndex((token, at) => at > i && token.text === ')' && token.depth === next.depth);
      if (tokens[close + 1]?.text !== '{') replace(it.start, it.end, '__lmc_import'); // else a method
    } else if (next.text === '.' && tokens[i + 2]?.text === 'meta') {
      replace(it.start, tokens[i + 2].end, '__lmc_meta');
    } else if (it.depth === 0) {
      const found = statement(code, tokens, i);
      if (found) {
        replace(it.start, tokens[found.last].end, found.text);
        i = found.last;
      }
    }
  }
  return text + code.slice(done);
}

/** `import …` at token i as a `const`: its text and the number of its last token. */
function statement(code, tokens, i) {
  const names = [], parts = [];
  let at = i + 1, all = '';
  const word = kind => tokens[at]?.kind === kind ? tokens[at++].text : null;
  const is = text => tokens[at]?.text === text && tokens[at].kind !== 'string' && ++at > 0;
  if (tokens[at].kind !== 'string') {
    const main = word('word');
    if (main) {
      names.push('default');
      parts.push(`default: ${main}`);
    }
    if (!main || is(',')) {
      if (is('*')) {
        if (!is('as') || !(all = word('word'))) return null;
      } else if (is('{')) {
        while (!is('}')) {
          const name = word('word') ?? word('string');
          if (name === null) return null;
          const local = is('as') ? word('word') : name;
          if (local === null) return null;
          names.push(/^['"]/.test(name) ? name.slice(1, -1) : name);
          parts.push(`${name}: ${local}`);
          if (!is(',') && tokens[at]?.text !== '}') return null;
        }
      } else return null;
    }
    if (!is('from')) return null;
  }
  const specifier = word('string');
  if (specifier === null) return null;
  let options = '';
  if (['with', 'assert'].includes(tokens[at]?.text) && tokens[at + 1]?.text === '{') {
    const open = tokens[at + 1];
    const close = tokens.findIndex((token, index) => index > at && token.text === '}' && token.depth === open.depth);
    if (close < 0) return null;
    options = `, { with: ${code.slice(open.start, tokens[close].end)} }`;
    at = close + 1;
  }
  const call = `await __lmc_import(${specifier}, ${JSON.stringify(names)}${options})`;
  const bound = parts.length ? `{ ${parts.join(', ')} }` : '';
  const text = all ? `const ${all} = ${call}${bound && `, ${bound} = ${all}`};` : `${bound && `const ${bound} = `}${call};`;
  return { text, last: at - 1 };
}

/** The tokens of code: { kind, text, start, end, depth }; depth counts open brackets. */
function cut(code) {
  const BEFORE_VALUE = new Set(('return typeof case in of delete void throw new do else instanceof '
    + 'yield await extends default').split(' '));
  const SPACE = /\s+|\/\/[^\n]*|\/\*[^]*?\*\//y, WORD = /[\p{ID_Start}$_#\\][\p{ID_Continue}$\u200c\u200d\\]*/uy;
  const STRING = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y, NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
  const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[\w]*/y;
  const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;
  const PUNCTUATION = /=>|\?\.(?!\d)|\+\+|--|[^]/y;
  const tokens = [], open = [];
  let at = 0;
  const match = pattern => {
    pattern.lastIndex = at;
    return pattern.exec(code)?.[0] ?? null;
  };
  const add = (kind, text) => {
    tokens.push({ kind, text, start: at, end: at + text.length, depth: open.length });
    at += text.length;
  };
  /** Whether a value stands before this place, so that a slash divides. */
  const divides = () => {
    const last = tokens.at(-1);
    if (!last) return false;
    if (last.kind === 'word') return !BEFORE_VALUE.has(last.text) || tokens.at(-2)?.text === '.';
    if (last.kind === 'punctuation') return [')', ']', '}', '++', '--'].includes(last.text) && !last.statement;
    return true;
  };
  const template = () => {
    const text = match(TEMPLATE) ?? code.slice(at);
    add('template', text);
    if (text.endsWith('${')) open.push({ text: '${' });
  };
  while (at < code.length) {
    const space = match(SPACE);
    if (space) {
      at += space.length;
      continue;
    }
    const char = code[at];
    let text;
    if (char === '`') {
      add('template', '`');
      template();
    } else if ((text = match(STRING))) add('string', text);
    else if ((text = match(NUMBER))) add('number', text);
    else if ((text = match(WORD))) add('word', text);
    else if (char === '/' && !divides() && (text = match(REGEX))) add('regex', text);
    else if ('({['.includes(char)) {
      const last = tokens.at(-1);
      // `if (…) /x/`: what follows the bracket is no division; and a block is no value
      const statement = char === '(' ? /^(?:if|while|for|with)$/.test(last?.text ?? '')
        : char === '{' && (!last || [')', ';', '{', '}', '=>', 'else', 'try', 'do', 'finally'].includes(last.text));
      add('punctuation', char);
      open.push({ text: char, statement });
    } else if (')}]'.includes(char)) {
      const opened = open.pop();
      if (char === '}' && opened?.text === '${') {
        add('template', '}');
        template();
      } else {
        add('punctuation', char);
        tokens.at(-1).statement = opened?.statement;
      }
    } else add('punctuation', match(PUNCTUATION));
  }
  return tokens;
}

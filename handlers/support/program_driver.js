// program_driver.js -- runs a program that a model has written, until it ends or waits for a call that was not made.
//
// Descriptor 0 brings one JSON object, descriptor 1 takes one back:
//
//   {"code", "seed", "now", "tools": [[name, takes text]], "calls": [{"name", "arguments", "output", "failed"}],
//    "limits": {"calls", "at_once", "text", "images"}}
//
//   {"calls": [{"number", "name", "arguments"}]}   it waits for these
//   {"texts": [], "images": []}                    it has ended
//   {"failed": why}                                an exception that it did not catch
//   {"strayed": true}                              it made other calls than the last time
//
// The program begins anew each time, and gets the outputs of the calls that it has made before, round by round: all
// calls that it made before it waited are one round, and are answered together. So it comes to the same place again, if
// it depends on nothing else. Time and random numbers are fixed; nothing here is asynchronous but the calls.
//
// The context has no names of Node. That keeps honest code from depending on them. It is no wall: the box is.

'use strict';

const fs = require('fs');
const vm = require('vm');

const input = JSON.parse(fs.readFileSync(0, 'utf8'));

const finish = answer => {
  const bytes = Buffer.from(JSON.stringify(answer, (key, value) =>
    typeof value === 'string' ? value.replace(/\0|\p{Surrogate}/gu, '\uFFFD') : value));
  let sent = 0;
  while (sent < bytes.length) {
    try {
      sent += fs.writeSync(1, bytes, sent);
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(1);
    }
  }
  process.exit(0);
};

// Evaluated inside of the context, so that the program meets no object from outside.
const inside = (text) => {
  const {seed, now, tools: names, limits} = JSON.parse(text);
  const {parse, stringify} = JSON;
  const {construct, defineProperty, deleteProperty, getOwnPropertyDescriptor} = Reflect;

  for (const name of ['Atomics', 'FinalizationRegistry', 'SharedArrayBuffer', 'Temporal', 'WeakRef', 'WebAssembly',
    'console'])
    deleteProperty(globalThis, name);

  // sfc32, a small generator with a long period.
  let [a, b, c, d] = [0, 8, 16, 24].map(at => parseInt(seed.slice(at, at + 8), 16) | 0);
  Math.random = () => {
    const next = (a + b | 0) + d | 0;
    d = d + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + next | 0;
    return (next >>> 0) / 4294967296;
  };

  const Real = Date;
  const Fixed = function Date(...list) {
    if (!new.target) return new Real(now).toString();
    return construct(Real, list.length ? list : [now], new.target);
  };
  Fixed.now = () => now;
  Fixed.parse = Real.parse;
  Fixed.UTC = Real.UTC;
  Fixed.prototype = Real.prototype;
  Fixed.prototype.constructor = Fixed;
  globalThis.Date = Fixed;
  const formats = Intl.DateTimeFormat.prototype;
  const format = getOwnPropertyDescriptor(formats, 'format').get;
  const toParts = formats.formatToParts;
  defineProperty(formats, 'format', {
    configurable: true,
    get() {
      const own = format.call(this);
      return date => own(date === undefined ? now : date);
    },
  });
  formats.formatToParts = function (date) {
    return toParts.call(this, date === undefined ? now : date);
  };

  const waiting = [];
  const open = new Map();
  let made = 0;
  const call = (name, takesText, value) => new Promise((resolve, reject) => {
    const given = takesText && typeof value === 'string' ? {input: value} : value === undefined ? {} : value;
    const written = stringify(given);
    if (written === undefined || written[0] !== '{') throw new TypeError(`tools.${name} takes an object`);
    if (made === limits.calls) throw new RangeError(`A program may make ${limits.calls} calls.`);
    waiting.push({number: made++, name, arguments: written, resolve, reject});
  });
  const tools = Object.create(null);
  for (const [name, takesText] of names) tools[name] = value => call(name, takesText, value);

  const texts = [], images = [];
  let said = 0;
  const text_ = value => {
    const line = typeof value === 'string' ? value : stringify(value) ?? String(value);
    said += line.length + 1;
    if (said > limits.text) throw new RangeError(`A program may say ${limits.text} characters.`);
    texts.push(line);
  };
  const image = value => {
    if (images.length === limits.images) throw new RangeError(`A program may show ${limits.images} pictures.`);
    images.push(parse(stringify(typeof value === 'string' ? {image_url: value} : value)));
  };
  Object.assign(globalThis, {tools: Object.freeze(tools), text: text_, image});

  const describe = error => {
    let what = 'The program has failed.';
    try {
      const line = /program\.js:(\d+)/.exec(error?.stack ?? '')?.[1];
      what = String(error) + (line ? ` (line ${line})` : '');
    } catch { }
    return what;
  };
  let state = 'running', why;

  return {
    start(program) {
      program().then(() => { state = 'ended'; }, error => { state = 'failed'; why = describe(error); });
    },
    // The calls that it waits for now, or how it has ended.
    look() {
      if (state === 'failed') return stringify({failed: why});
      const round = waiting.splice(0, limits.at_once);
      for (const one of round) open.set(one.number, one);
      if (round.length) return stringify({calls: round.map(({number, name, arguments: a}) => ({number, name, arguments: a}))});
      return stringify(state === 'ended' ? {texts, images}
        : {failed: 'The program waits for something that never happens.'});
    },
    answer(number, output, failed) {
      const one = open.get(number);
      open.delete(number);
      let value = output;
      try { value = parse(output); } catch { }
      if (failed) one.reject(new Error(output));
      else one.resolve(value);
    },
  };
};

// The order of members, and members that are null, say nothing.
const plain = value => {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).filter(key => value[key] !== null).sort()
    .map(key => [key, plain(value[key])]));
};
const isSame = (a, b) => {
  try {
    return a === b || JSON.stringify(plain(JSON.parse(a))) === JSON.stringify(plain(JSON.parse(b)));
  } catch {
    return false;
  }
};

const context = vm.createContext(Object.create(null), {name: 'program'});
const {code, calls} = input;
delete input.code;
delete input.calls;
const world = vm.runInContext(`(${inside})`, context)(JSON.stringify(input));

const step = () => {
  const seen = JSON.parse(world.look());
  if (!seen.calls) finish(seen);
  const fresh = seen.calls.filter(({number}) => !calls[number]);
  for (const call of seen.calls) {
    const known = calls[call.number];
    const other = known && known.arguments !== undefined && !isSame(known.arguments, call.arguments);
    if (known && (known.name !== call.name || other)) finish({strayed: true});
  }
  if (fresh.length) finish({calls: fresh});
  for (const {number} of seen.calls) world.answer(number, calls[number].output, calls[number].failed);
  setImmediate(step);
};

process.on('unhandledRejection', () => { });
process.on('uncaughtException', error => finish({failed: String(error)}));
let program;
try {
  const script = new vm.Script(`(async () => {\n${code}\n})`, {filename: 'program.js', lineOffset: -1});
  program = script.runInContext(context, {displayErrors: false});
} catch (error) {
  const line = /^program\.js:(\d+)/.exec(error.stack ?? '')?.[1];
  finish({failed: `${error}${line ? ` (line ${line})` : ''}`});
}
world.start(program);
setImmediate(step);

/** The main thread: orders from the channel go to the threads, what they say goes to the channel. */
import { Socket } from 'node:net';
import { corkTurn } from '@caisson/ground';
import {
  createNdjsonDecoder,
  encodeNdjson,
  MAX_LOG_CHARACTERS,
  MAX_ORDER_BYTES,
  type GuestLine,
  type GuestOrder,
} from '@caisson/protocol';
import { openSenses } from './senses.ts';
import { openTurns } from './turns.ts';

const CHANNEL_FD = 3;
/** Nobody reads our log lines if so much waits. */
const MAX_WAITING_BYTES = 1024 * 1024;
const FLUSH_LIMIT_MS = 500;
/** For a file of the same group that is still being loaded. */
const OTHERS_WAIT_MS = 500;

export type LoadOrder = Extract<GuestOrder, { readonly kind: 'load' }>;

/** What serves the modules of a guest. */
export interface Served {
  /** Reports each module once, with why it could not be loaded. */
  load(onLoaded: (name: string, problem: string | null) => void): void;
  take(order: GuestOrder): void;
}

export interface Outlet {
  say(line: GuestLine): void;
  log(name: string, text: string, threadId?: string): void;
  /** A thread does not end, or cannot begin: the process ends, and with it all others. Never resolves. */
  giveUp(why: string): Promise<never>;
}

export function serveGuest(): void {
  const channel = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
  for (const end of ['end', 'error', 'close']) channel.on(end, () => process.exit(0));
  const outlet = createOutlet(channel);
  const decoder = createNdjsonDecoder({ maxLineBytes: MAX_ORDER_BYTES });
  let served: Served | null = null;
  channel.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk)) {
      if (record.kind !== 'value') continue;
      const order = record.value as GuestOrder; // our own worker checked it
      if (order.kind === 'ping') outlet.say({ kind: 'pong', at: order.at });
      else if (order.kind === 'load') served = open(order, outlet);
      else served?.take(order);
    }
  });
}

function open(order: LoadOrder, outlet: Outlet): Served {
  const served = order.serves === 'senses' ? openSenses(order, outlet) : openTurns(order, outlet);
  reportLoads(order, served, outlet);
  return served;
}

/** Ready when every file was tried. A file that takes long keeps the others waiting for a moment only. */
function reportLoads({ modules }: LoadOrder, served: Served, { say }: Outlet): void {
  const known = new Map<string, string | null>();
  let [isLate, isReady] = [false, false];
  const look = (): void => {
    const isUsable = [...known.values()].includes(null);
    if (isReady || (known.size < modules.length && !(isLate && isUsable))) return;
    isReady = true;
    clearTimeout(timer);
    const describe = (name: string) =>
      known.has(name) ? describeLoad(name, known.get(name) ?? null) : { name, isLoading: true };
    say({ kind: 'ready', modules: modules.map(({ name }) => describe(name)) });
  };
  const timer = setTimeout(() => {
    isLate = true;
    look();
  }, OTHERS_WAIT_MS);
  served.load((name, problem) => {
    if (isReady) return say({ kind: 'loaded', ...describeLoad(name, problem) });
    known.set(name, problem);
    look();
  });
}

function describeLoad(name: string, problem: string | null): { name: string; problem?: string } {
  return problem === null ? { name } : { name, problem };
}

function createOutlet(channel: Socket): Outlet {
  const say = (line: GuestLine): void => {
    corkTurn(channel);
    channel.write(encodeNdjson(line));
  };
  return {
    say,
    log(name, text, threadId) {
      if (channel.writableLength > MAX_WAITING_BYTES) return;
      const line = { kind: 'logged', name, text: String(text).slice(0, MAX_LOG_CHARACTERS) } as const;
      say(threadId === undefined ? line : { ...line, threadId });
    },
    giveUp(why) {
      process.stderr.write(`caisson: ${why}\n`);
      const end = (): unknown => process.kill(process.pid, 'SIGKILL'); // an exit would wait for that thread
      channel.end(end);
      setTimeout(end, FLUSH_LIMIT_MS);
      return new Promise(() => undefined);
    },
  };
}

/**
 * One start of a resident, from its job to its last line.
 *
 *   launching ──► loading ──ready──► serving ──stop──► stopping ──nothing under way, or the grace is over──► ended
 *       └──────────────┴────────────────┴──the guest ends, or a watch ends it──────────────────────────────► ended
 *
 * WR1  The user's code runs in one sandbox; when the last line is written, nothing of it runs any more.
 * WR2  When the host is gone the sandbox is killed at once, and nothing is reported.
 * WR3  What the guest says is data: it is passed on only if it is a line of the protocol, and an answer only to what was asked.
 * WR4  Nothing is buffered without limit: a host that does not read stops the guest's lines, a guest that does not read
 *      stops the host's orders, and is then found by its silence.
 */
import type { Socket } from 'node:net';
import { launchSandbox, reopenCgroup, systemClock, type SandboxProcess } from '@caisson/ground';
import {
  STATE_INSIDE,
  WORKER_EXIT,
  type GuestLine,
  type ResidentEnding,
  type ResidentJob,
  type ResidentOrder,
} from '@caisson/protocol';
import { watchHost } from '../attempt/index.ts';
import type { OpenNetwork } from '../network/index.ts';
import { describeExit } from './describe-exit.ts';
import { openGuestLink, type GuestLink } from './guest-link.ts';
import { buildGuestSpec } from './guest-view.ts';
import { watchAnswers, watchDisk, type AnswerWatch, type EndGuest } from './guest-watch.ts';
import { openHostLink, type HostLink } from './host-link.ts';
import { createLogLimit, type LogLimit } from './log-limit.ts';
import { createOpenOrders, type OpenOrders } from './open-orders.ts';
import { openGrantedNetwork } from './granted-network.ts';
import { openOutputLog, type OutputLog } from './output-log.ts';

const BEAT_MS = 5000;
/** What a guest said last is read for so long after its end. */
const LAST_LINES_MS = 1000;
/** Of the time until `ready`, for one file: a file that does not load costs only itself. */
const LOAD_SHARE = 0.7;
/** A turn may be silent for so many times as long as the whole guest. */
const TURN_SILENCE = 3;
const DEFAULT_MEMORY_BYTES = 512 * 1024 ** 2;
const DEFAULT_PIDS = 128;
const MAX_TURNS = 64;
/** Of its sandbox's memory, what the guest has without a turn. */
const GUEST_BYTES = 96 * 1024 ** 2;
/** Of its sandbox's limits, what a turn at the same time as others is counted with: its thread, and what it may start. */
const TURN_BYTES = 16 * 1024 ** 2;
const PIDS_PER_TURN = 4;

type LoggedLine = Extract<GuestLine, { kind: 'logged' }>;

/** What the parts of one start share. */
interface Serving {
  readonly job: ResidentJob;
  readonly host: HostLink;
  readonly log: OutputLog;
  readonly orders: OpenOrders;
  readonly logLimit: LogLimit;
  guest: SandboxProcess | null;
  /** Set once: why we ended the guest. */
  reason: Pick<ResidentEnding, 'why' | 'detail'> | null;
  isStopping: boolean;
  readonly end: EndGuest;
}

export async function serveResident(
  job: ResidentJob,
  orders: Socket,
  parentPid: number | null,
): Promise<void> {
  const dieWithHost = (): void => {
    serving.guest?.kill(); // WR2
    process.exit(WORKER_EXIT.hostLost);
  };
  const serving: Serving = {
    job,
    host: openHostLink(job, orders, dieWithHost),
    log: openOutputLog(job.paths.log),
    orders: createOpenOrders(job.modules.map(({ name }) => name)),
    logLimit: createLogLimit(),
    guest: null,
    reason: null,
    isStopping: false,
    end(why, detail) {
      serving.reason ??= { why, detail };
      serving.guest?.kill();
    },
  };
  watchHost(parentPid, dieWithHost);
  const ending = await findEnding(serving);
  serving.host.write({ kind: 'ended', ending });
  await serving.host.flush();
}

async function findEnding(serving: Serving): Promise<ResidentEnding> {
  const { job, log } = serving;
  let network: OpenNetwork | null = null;
  try {
    const stopWatching = await watchDisk(job, () => serving.guest, serving.end);
    if (serving.reason !== null) {
      await stopWatching();
      return { ...serving.reason, stderrTail: '' };
    }
    network = await openGrantedNetwork(job.network, log);
    const guest = await launchSandbox(buildGuestSpec(job, network));
    serving.guest = guest;
    if (serving.reason !== null) guest.kill();
    const ending = await serveGuest(serving, guest);
    await stopWatching();
    return ending;
  } catch (error) {
    serving.guest?.kill();
    await serving.guest?.exited;
    const detail = (error as Error).message.slice(0, 8000);
    return { why: 'not-started', detail, stderrTail: '' };
  } finally {
    await network?.close();
  }
}

/** Resolves when nothing of the guest is left (WR1). */
async function serveGuest(serving: Serving, guest: SandboxProcess): Promise<ResidentEnding> {
  const { job, log } = serving;
  const channel = guest.channels[0];
  if (channel == null) throw new Error('the sandbox has no channel');
  log.collect('stdout', guest.stdout);
  const errors = log.collect('stderr', guest.stderr);
  const stopRelaying = relay(serving, channel);
  const exit = await guest.exited;
  const { oomKills } = reopenCgroup(job.paths.cgroup).events();
  await stopRelaying();
  return { ...(serving.reason ?? describeExit(exit, oomKills)), stderrTail: errors.tail() };
}

/** Passes orders and lines on until the returned function has passed on the last of them. */
function relay(
  serving: Serving,
  channel: NonNullable<SandboxProcess['channels'][number]>,
): () => Promise<void> {
  const { job, host } = serving;
  const link: GuestLink = openGuestLink(channel, {
    onLine: (line) => takeLine(line),
    onViolation: (detail) => serving.end('protocol', detail),
  });
  const answers = watchAnswers(job, link, serving.end);
  const takeLine = createLineReader(serving, link, answers);
  link.send(describeLoad(job));
  host.onOrder((order) => takeOrder(serving, link, order));
  host.onDrain(() => link.resume());
  link.onDrain(() => host.resume());
  const beat = setInterval(() => {
    const memoryBytes = reopenCgroup(job.paths.cgroup).memoryBytes();
    if (host.isFull()) return;
    host.write({ kind: 'beat', memoryBytes });
    reportDropped(serving);
  }, BEAT_MS);
  return async () => {
    answers.stop();
    clearInterval(beat);
    await Promise.race([
      link.closed,
      new Promise((resolve) => {
        setTimeout(resolve, LAST_LINES_MS);
      }),
    ]);
  };
}

function describeLoad({ kind, modules, writable, sandbox, readyMs, unresponsiveMs, grant }: ResidentJob) {
  const { memory = DEFAULT_MEMORY_BYTES, pids = DEFAULT_PIDS } = grant.limits;
  return {
    kind: 'load',
    serves: kind,
    modules,
    writable,
    projectRoot: sandbox.projectRoot,
    stateFolder: STATE_INSIDE,
    loadMs: readyMs * LOAD_SHARE,
    silenceMs: unresponsiveMs * TURN_SILENCE,
    heapBytes: memory / 2,
    maxTurns: Math.max(
      1,
      Math.min(MAX_TURNS, Math.floor((memory - GUEST_BYTES) / TURN_BYTES), Math.floor(pids / PIDS_PER_TURN)),
    ),
  } as const;
}

function takeOrder(serving: Serving, link: GuestLink, order: ResidentOrder | null): void {
  if (order === null)
    return serving.end('protocol', 'the host sent an order that this version does not know');
  if (order.kind === 'stop') return stop(serving, order.graceMs);
  if (serving.isStopping && (order.kind === 'compute' || order.kind === 'turn')) return;
  serving.orders.add(order);
  link.send(order);
  if (link.isFull()) serving.host.pause(); // WR4
}

/** Senses keep all they need in their database, so that they end at once; turns may finish. */
function stop(serving: Serving, graceMs: number): void {
  const isFirst = !serving.isStopping;
  serving.isStopping = true;
  const finish = (): void => serving.end('stopped', 'its host stopped it');
  if (serving.job.kind === 'senses' || serving.orders.isIdle()) return finish();
  if (isFirst) systemClock.setTimer(graceMs, finish);
}

function createLineReader(
  serving: Serving,
  link: GuestLink,
  answers: AnswerWatch,
): (line: GuestLine) => void {
  const { host, log, orders, logLimit } = serving;
  let isReady = false;
  return (line) => {
    if (line.kind === 'pong') return answers.pong(line.at);
    const problem = line.kind === 'ready' && isReady ? 'it was ready already' : orders.settle(line); // WR3
    if (problem !== null) return serving.end('protocol', problem);
    if (line.kind === 'ready') {
      isReady = true;
      answers.ready();
    }
    if (line.kind === 'logged') {
      log.write(line.name, line.text);
      if (!logLimit.take()) return;
      reportDropped(serving);
    }
    host.write(line.kind === 'logged' ? withKnownThread(line, orders) : line);
    if (host.isFull()) link.pause(); // WR4
    if (serving.isStopping && orders.isIdle()) stop(serving, 0);
  };
}

function withKnownThread({ threadId, ...line }: LoggedLine, orders: OpenOrders): LoggedLine {
  return threadId === undefined || !orders.isInTurn(threadId) ? line : { ...line, threadId };
}

function reportDropped({ host, logLimit }: Serving): void {
  const lines = logLimit.takeDropped();
  if (lines > 0) host.write({ kind: 'log-dropped', lines });
}

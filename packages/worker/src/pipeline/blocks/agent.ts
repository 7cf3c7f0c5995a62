/**
 * Runs the agent: start, read its stream, count, stop when ordered, and tell how it ended.
 * A1  The agent's output is data: it goes to the spool and to the driver, never to our stdout.
 * A2  The agent's own events decide the ending; its exit code only breaks a tie.
 * A3  After the agent said that it is done it gets a grace window to exit; then the sandbox ends it.
 */
import { join } from 'node:path';
import { describeSandbox, launchSandbox, type SandboxProcess } from '@caisson/ground';
import { createLineSplitter, type LineSplitter } from '../line-splitter.ts';
import type { AttemptContext } from '../../attempt-context.ts';
import type { StopOrder } from '../../control.ts';
import type { AgentEnding, AgentSignal } from '../../runtimes/contract.ts';
import type { RuledPaths } from '../../ruled-paths.ts';
import { buildSandboxSpec } from '../../sandbox-view.ts';
import { openSpool, type Spool } from '../../spool.ts';
import { fail, StepFailure } from '../../step-failure.ts';
import { createSelfGate } from '../../coordination/self-gate.ts';
import { describeAgentStart, type AgentStart } from '../agent-start.ts';
import { watchControls } from '../created-controls.ts';
import { watchDisk } from '../disk-watch.ts';
import { createProgressTeller } from '../progress-teller.ts';
import type { BlockReport } from '../runner.ts';
import { StoppedError } from '../../stop-order.ts';

const RECORD_STDOUT_BYTES = 4 * 1024 * 1024;
const RECORD_STDERR_BYTES = 256 * 1024;
const AFTER_CONCLUDED_MS = 5000;

export async function runAgentBlock(context: AttemptContext): Promise<BlockReport> {
  const { job } = context;
  const startedAt = performance.now();
  context.voice.say({ kind: 'progress', phase: 'agent', message: job.runtime.name });
  const start = await describeAgentStart(context);
  const disarm = watchControls(context);
  try {
    const spec = buildSandboxSpec(job, { purpose: 'agent', ...start.view, ruled: await findRuled(context) });
    const spools = openSpools(context);
    const process = await launchSandbox(spec);
    context.running = process;
    start.coordination?.warm();
    context.gathered.enforced = {
      ...describeSandbox(spec),
      ...(job.credential === undefined ? {} : { credential: job.credential }),
    };
    context.voice.say({
      kind: 'sandbox.started',
      purpose: 'agent',
      pid: process.pid,
      startTime: process.startTime,
      enforced: context.gathered.enforced,
    });
    const exit = await followWatched(context, process, start, spools);
    const ending = start.stream.end({ ...exit, stderrTail: spools.stderr.tail(8192) });
    return concludeAgent(context, { exit, ending, spools, startedAt });
  } finally {
    context.running = null;
    await start.close();
    disarm();
  }
}

/** Loaded late: most runs have no rule about files, and the matcher comes with the shell parser. */
async function findRuled(context: AttemptContext): Promise<RuledPaths | undefined> {
  const { job, voice } = context;
  if (job.grant.sandbox === 'none' || !job.rules.some((rule) => 'path' in rule)) return undefined;
  const { findRuledPaths } = await import('../../ruled-paths.ts');
  const ruled = findRuledPaths(job);
  if (ruled.gap !== null) voice.say({ kind: 'warning', source: 'policy', message: ruled.gap });
  return ruled;
}

interface Spools {
  readonly stdout: Spool;
  readonly stderr: Spool;
}

function openSpools(context: AttemptContext): Spools {
  const { spool } = context.job.paths;
  const options = { capBytes: context.job.spoolBytes, redactor: context.redactor };
  return {
    stdout: openSpool(join(spool, 'stdout'), options),
    stderr: openSpool(join(spool, 'stderr'), options),
  };
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

async function followWatched(...run: Parameters<typeof followAgent>): Promise<Exit> {
  const [context, process] = run;
  // Read before anything is waited for: a quick program may be gone by then, and what it printed with it.
  const following = followAgent(...run);
  following.catch(() => undefined); // told below, also when it fails while the watch begins
  const stopDiskWatch = await watchDisk(context, process).catch((error: unknown) => {
    process.kill();
    throw error;
  });
  try {
    return await following;
  } finally {
    await stopDiskWatch();
  }
}

async function followAgent(
  context: AttemptContext,
  process: SandboxProcess,
  start: AgentStart,
  spools: Spools,
): Promise<Exit> {
  const { stream, command, coordination } = start;
  const teller = createProgressTeller(context);
  const tellAgent = (line: string | undefined): void => {
    if (line !== undefined && process.stdin?.writable === true) process.stdin.write(line);
  };
  const heedGate =
    coordination === null
      ? () => undefined
      : createSelfGate(context, coordination, (callId, decision) =>
          tellAgent(stream.answer?.(callId, decision)),
        );
  context.control.onMessage(({ body }) => tellAgent(stream.inject?.(body)));
  let afterConcluded: NodeJS.Timeout | undefined;
  const hear = (signal: AgentSignal): void => {
    context.meter.count(signal);
    teller.tell(signal);
    coordination?.loop.hear(signal);
    heedGate(signal);
    if (signal.kind === 'session') context.gathered.sessionId = signal.sessionId;
    if (signal.kind === 'concluded') afterConcluded ??= setTimeout(() => process.kill(), AFTER_CONCLUDED_MS); // A3
  };
  const lines: LineSplitter = createLineSplitter((line) => {
    for (const signal of stream.line(line)) hear(signal);
  });
  process.stdout.on('data', (chunk: Buffer) => {
    context.printedBytes += chunk.length;
    spools.stdout.write(chunk);
    lines.push(chunk);
  });
  process.stderr.on('data', (chunk: Buffer) => {
    context.printedBytes += chunk.length;
    spools.stderr.write(chunk);
  });
  if (process.stdin && command.stdin !== null) {
    process.stdin.on('error', () => undefined); // an agent that never reads its stdin is not an error of ours
    process.stdin.write(command.stdin);
    if (command.keepsStdinOpen !== true) process.stdin.end();
  }
  const stopObeying = obeyStop(context, process);
  try {
    return await process.exited;
  } finally {
    clearTimeout(afterConcluded);
    stopObeying();
    lines.end();
    teller.flush();
    spools.stdout.end();
    spools.stderr.end();
  }
}

/** The kill ladder's lower half: a signal the agent can catch, the grace, then the whole tree. */
function obeyStop(context: AttemptContext, process: SandboxProcess): () => void {
  const { stop } = context.control;
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    const order = stop.reason as StopOrder;
    if (order.kind === 'host-lost' || order.graceMs === 0) {
      process.kill();
      return;
    }
    process.signalAgent(order.reason === 'interrupt' ? 'SIGINT' : 'SIGTERM');
    timer = setTimeout(() => process.kill(), order.graceMs);
  };
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  return () => {
    clearTimeout(timer);
    stop.removeEventListener('abort', onStop);
  };
}

function concludeAgent(
  context: AttemptContext,
  run: { exit: Exit; ending: AgentEnding; spools: Spools; startedAt: number },
): BlockReport {
  const { exit, ending, spools } = run;
  const { gathered, control } = context;
  context.voice.say({
    kind: 'runtime.adapter.ran',
    exitCode: exit.code,
    signal: exit.signal,
    durationMs: Math.round(performance.now() - run.startedAt),
    stdout: {
      bytes: spools.stdout.bytes,
      head: spools.stdout.head().slice(0, 2048),
      tail: spools.stdout.tail(2048),
    },
    stderr: {
      bytes: spools.stderr.bytes,
      head: spools.stderr.head().slice(0, 2048),
      tail: spools.stderr.tail(2048),
    },
  });
  gathered.exitCode = exit.code;
  gathered.logs = {
    stdout: spools.stdout.readRecord(RECORD_STDOUT_BYTES),
    stderr: spools.stderr.readRecord(RECORD_STDERR_BYTES),
  };
  gathered.reply = context.redactor.redact(ending.reply ?? '');
  const exitCode = exit.code === null ? {} : { exitCode: exit.code };
  if (control.stop.aborted) throw new StoppedError(control.stop.reason as StopOrder);
  if (gathered.limit)
    return { status: 'failed', ...exitCode, failure: new StepFailure({ step: 11, ...gathered.limit }) };
  if (ending.kind === 'answered') return { status: 'ok', ...exitCode };
  const failure = fail('provider-failed', context.redactor.redact(ending.detail).slice(0, 8000), {
    cause: ending.cause,
    step: 11,
  });
  return { status: 'failed', ...exitCode, failure };
}

/**
 * Runs the agent: start, read its stream, count, stop when ordered, and report how it ended.
 * A1  The agent's output is data: it goes to the spool and to the driver, never to our stdout.
 * A2  The agent's own events decide the ending; its exit code only breaks a tie.
 * A3  After the agent reported that it is done it gets a grace window to exit; then the sandbox ends it.
 * A4  An adapter that throws ends the agent: from then on its actions and its cost would be unknown.
 * A5  A conversation that the program does not find is not resumed: the agent is started again, once.
 */
import { describeSandbox, launchSandbox, type SandboxProcess, type SandboxSpec } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { createLineSplitter, type LineSplitter } from '../line-splitter.ts';
import { type AttemptContext, fail, StepFailure } from '../../attempt/index.ts';
import { isSessionMissing, type AgentCommand, type AgentSignal } from '../../runtimes/index.ts';
import type { RuledPaths } from '../ruled-paths.ts';
import { buildSandboxSpec, type ViewOptions } from '../../view/index.ts';
import { createSelfGate } from '../../coordination/index.ts';
import { openAgentSpools, type AgentSpools } from '../agent-spools.ts';
import { createOutputBatches, type OutputBatches } from '../output-batches.ts';
import { describeAgentStart, type AgentStart } from '../agent-start.ts';
import { concludeAgent, type AgentProcessExit } from '../conclude-agent.ts';
import { watchControls } from '../created-controls.ts';
import { underDiskWatch, obeyStop } from '../../commands/index.ts';
import { adapterFailure } from '../guarded-driver.ts';
import { createProgressReporter } from '../progress-reporter.ts';
import { createWorkReporter } from '../work-reporter.ts';
import type { BlockReport } from '../runner.ts';

const AFTER_CONCLUDED_MS = 5000;
const COMMAND = 'command';

export async function runAgentBlock(context: AttemptContext): Promise<BlockReport> {
  const report = await runOnce(context);
  const detail = report.failure?.failure.detail ?? '';
  if (context.resume === undefined || !isSessionMissing(detail)) return report; // A5
  const message = `the session ${context.resume.sessionId} is not there; the agent begins a new one`;
  context.writer.write({ kind: 'warning', source: `runtime:${context.job.runtime.name}`, message });
  context.resume = undefined;
  return runOnce(context);
}

async function runOnce(context: AttemptContext): Promise<BlockReport> {
  const { job } = context;
  const startedAt = performance.now();
  context.writer.write({ kind: 'progress', phase: 'agent', message: job.runtime.name });
  const start = await describeAgentStart(context);
  const disarm = await watchControls(context);
  try {
    const spec = buildSandboxSpec(job, { purpose: 'agent', ...start.view, ruled: await findRuled(context) });
    const spools = openAgentSpools(context);
    const exit = await underDiskWatch(context, async () =>
      followAgent(context, await launchAgent(context, spec, start), start, spools),
    );
    return concludeAgent(context, { exit, stream: start.stream, spools, startedAt });
  } finally {
    context.running = null;
    await start.close();
    await disarm();
  }
}

async function findRuled(context: AttemptContext): Promise<ViewOptions['ruled']> {
  const ruled = await findByRules(context);
  if (context.job.workspace.onlyScope !== true) return ruled;
  const { findOutsidePlaces } = await import('../only-scope.ts');
  const outside = findOutsidePlaces(context.job);
  if (outside === null)
    throw fail(
      'policy-denied',
      'there is too much beside the scope of the task to make it read-only (512 places). Name folders further up, or use --outside-scope refuse-push',
    );
  const { hidden = [], readOnly = [], outside: elsewhere = [], unbrought = [] } = ruled ?? {};
  return { hidden, readOnly: [...readOnly, ...outside], outside: elsewhere, unbrought };
}

/** Loaded late: most runs have no rule about files, and the matcher comes with the shell parser. */
async function findByRules(context: AttemptContext): Promise<RuledPaths | undefined> {
  const { job, writer } = context;
  if (job.grant.sandbox === 'none' || !job.rules.some((rule) => 'path' in rule)) return undefined;
  const { findRuledPaths } = await import('../ruled-paths.ts');
  const ruled = findRuledPaths(job);
  if (ruled.refusal !== null) throw fail('policy-denied', ruled.refusal);
  if (ruled.gap !== null) writer.write({ kind: 'warning', source: 'policy', message: ruled.gap });
  if (ruled.unbrought.length > 0) {
    const message = `not brought, because a no-access rule is about it: ${ruled.unbrought.join(', ')}`;
    writer.write({ kind: 'warning', source: 'policy', message });
  }
  return ruled;
}

async function launchAgent(
  context: AttemptContext,
  spec: SandboxSpec,
  start: AgentStart,
): Promise<SandboxProcess> {
  const { credential } = context.job;
  const process = await launchSandbox(spec);
  context.running = process;
  start.coordination?.warm();
  context.gathered.enforced = {
    ...describeSandbox(spec),
    inotify: process.limitsInotify,
    ...definedOnly({ credential }),
    ...(process.readOnlyLayers.length === 0 ? {} : { readOnlyLayers: [...process.readOnlyLayers] }),
  };
  warnReadOnlyLayers(context, process.readOnlyLayers);
  context.writer.write({
    kind: 'sandbox.started',
    purpose: 'agent',
    pid: process.pid,
    startTime: process.startTime,
    enforced: context.gathered.enforced,
  });
  return process;
}

function warnReadOnlyLayers({ job, writer }: AttemptContext, targets: readonly string[]): void {
  if (targets.length === 0 || job.grant.mode === 'suggest') return;
  const message = `read-only in this run: ${targets.join(', ')}. Something in it is hidden or guarded (by a rule, or because it is a socket or a settings file with keys), or this machine cannot make private overlays, which needs Perl and Linux 5.11 or newer`;
  writer.write({ kind: 'warning', source: 'sandbox', message });
}

async function followAgent(
  context: AttemptContext,
  process: SandboxProcess,
  start: AgentStart,
  spools: AgentSpools,
): Promise<AgentProcessExit> {
  const { stream, command, coordination } = start;
  const reporter = createProgressReporter(context);
  const work = createWorkReporter(context);
  const asking = askAdapter(context, process);
  let isOver = false;
  const sendToAgent = (line: () => string | undefined): void =>
    asking(() => {
      if (isOver) return; // a later agent of the pipeline has its own stream
      const text = line();
      if (text !== undefined && process.stdin?.writable === true) process.stdin.write(text);
    });
  const heedGate =
    coordination === null
      ? () => undefined
      : createSelfGate(context, coordination, (callId, decision) =>
          sendToAgent(() => stream.answer?.(callId, decision)),
        );
  context.control.onMessage(({ body }) => sendToAgent(() => stream.inject?.(body)));
  let afterConcluded: NodeJS.Timeout | undefined;
  const receive = (signal: AgentSignal): void => {
    context.meter.count(signal);
    work.report(signal);
    reporter.report(signal);
    coordination?.loop.receive(signal);
    heedGate(signal);
    if (signal.kind === 'session') context.gathered.sessionId = signal.sessionId;
    if (signal.kind === 'concluded') afterConcluded ??= setTimeout(() => process.kill(), AFTER_CONCLUDED_MS); // A3
  };
  const lines: LineSplitter = createLineSplitter((line) =>
    asking(() => {
      for (const signal of stream.line(line)) receive(signal);
    }),
  );
  if (coordination === null) work.report(asCall(command.argv));
  const batches = keepOutput(context, process, spools);
  if (context.driver?.readsNoLines !== true) process.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
  feedStdin(process, command);
  const stopObeying = obeyStop(context, process);
  try {
    const exit = await process.exited;
    if (coordination === null) work.report({ kind: 'tool-end', callId: COMMAND, ok: exit.code === 0 });
    return exit;
  } finally {
    clearTimeout(afterConcluded);
    stopObeying();
    lines.end();
    isOver = true;
    work.end();
    reporter.flush();
    batches.flush();
    spools.stdout.end();
    spools.stderr.end();
  }
}

function feedStdin({ stdin }: SandboxProcess, command: AgentCommand): void {
  stdin?.on('error', () => undefined); // an agent that never reads its stdin is not an error of ours
  if (stdin === null) return;
  if (command.stdin === null) return void process.stdin.pipe(stdin);
  stdin.write(command.stdin);
  if (command.keepsStdinOpen !== true) stdin.end();
}

/** The operator's command is reported like a tool call; it counts as none. */
function asCall(argv: readonly string[]): AgentSignal {
  return { kind: 'tool-start', callId: COMMAND, tool: COMMAND, input: { command: argv } };
}

function keepOutput(context: AttemptContext, process: SandboxProcess, spools: AgentSpools): OutputBatches {
  const batches = createOutputBatches((name, bytes) => {
    spools[name].write(bytes);
    void slowDown(context, process);
  });
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].on('data', (chunk: Buffer) => {
      context.printedBytes += chunk.length;
      batches.push(name, chunk);
    });
  }
  return batches;
}

async function slowDown({ attached }: AttemptContext, { stdout, stderr }: SandboxProcess): Promise<void> {
  const room = attached?.room() ?? null;
  if (room === null) return;
  for (const stream of [stdout, stderr]) stream.pause();
  await room;
  for (const stream of [stdout, stderr]) stream.resume();
}

/** A4. An adapter that has thrown once is not called any more. */
function askAdapter(context: AttemptContext, process: SandboxProcess): (work: () => void) => void {
  const { gathered, job } = context;
  let isBroken = false;
  return (work) => {
    if (isBroken) return;
    try {
      work();
    } catch (error) {
      isBroken = true;
      // An error caused by one of its signals is its failure too.
      const known = error instanceof StepFailure ? error : adapterFailure(job.runtime.name, 'line', error);
      gathered.limit ??= known.failure;
      process.kill();
    }
  };
}

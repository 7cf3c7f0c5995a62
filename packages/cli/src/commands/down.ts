import { findDaemon, NoDaemonError, stopDaemon } from '@caisson/engine';
import { MAX_DRAIN_MS, parseDuration, type DaemonStatus, type StopOrder } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { formatDuration, shortId } from '../format-values.ts';
import type { Output } from '../output.ts';
import { onStopSignals } from '../stop-signals.ts';
import { UsageError } from '../usage-error.ts';
import { warnUnread, withCaissonToRead } from '../with-caisson.ts';

const DEFAULT_DRAIN = '10m';
const MAX_NAMED = 5;
const DAY_MS = 24 * 3_600_000;

export const command = defineCommand({
  usage: '[--drain DURATION | --leave | --now]',
  about:
    'The daemon accepts nothing more, lets its running and waiting runs finish, and ends. Runs that have not ended in time\n' +
    'are stopped: their work is kept, and they can be continued. Ctrl-C ends only the waiting here: the daemon goes on\n' +
    'ending, and caisson status shows it. Without a daemon there is nothing to do, and that is no error.',
  options: {
    drain: {
      type: 'string',
      value: 'DURATION',
      summary: `let its runs finish for at most this long; default ${DEFAULT_DRAIN}, at most ${MAX_DRAIN_MS / DAY_MS}d`,
    },
    leave: {
      type: 'boolean',
      summary: 'end it and let running agents go on; the next daemon adopts them (limits.adoptWithin)',
    },
    now: { type: 'boolean', summary: 'stop its runs at once, and keep their work' },
  },
  examples: [
    {
      line: 'caisson down',
      says: 'End the daemon when its runs have ended, after ten minutes at the latest.',
    },
    { line: 'caisson down --drain 1h', says: 'The same with more patience.' },
    {
      line: 'caisson down --leave && caisson up -d',
      says: 'Replace it while agents work, as caisson up -d --replace does.',
    },
    { line: 'caisson down --now', says: 'Stop what it runs, keep the work, and end it.' },
  ],
  async run({ options, output }) {
    const { drain, leave, now, 'state-dir': stateDir } = options;
    if ([now, leave, drain !== undefined].filter(Boolean).length > 1)
      throw new UsageError('--drain waits for the runs, --leave lets them go on, and --now stops them', {
        remedy: 'Use only one of them.',
      });
    const drainMs = parseDuration(drain ?? DEFAULT_DRAIN, { minMs: 0 });
    if (drainMs > MAX_DRAIN_MS)
      throw new UsageError(`--drain ${drain} is longer than ${MAX_DRAIN_MS / DAY_MS} days`);
    return await end(now ? { now } : leave ? { leave } : { drainMs }, stateDir, output);
  },
});

async function end(order: StopOrder, stateDir: string | undefined, output: Output): Promise<ExitCode> {
  const enough = new AbortController();
  const forgetSignals = onStopSignals(() => enough.abort());
  try {
    const onProgress = showProgress(output);
    const { outcome, runs, residents, threads } = await stopDaemon({
      order,
      stateDir,
      onProgress,
      signal: enough.signal,
      onUnread: warnUnread(output),
    });
    output.status(null);
    const ended = outcome === 'gone' ? await findEnded(runs, stateDir, output) : [];
    const text =
      outcome === 'gone'
        ? ended.some(({ status }) => status === 'running')
          ? 'The daemon has ended. Agents that were at work go on for a while: caisson up -d adopts them.'
          : 'The daemon has ended.'
        : describeLeftAlone(order);
    output.result({ outcome, runs: ended, residents, threads }, () => [
      text,
      ...ended.map(describeEnded),
      ...describeResidents(residents, threads),
    ]);
    return outcome === 'gone' ? EXIT_CODES.finished : EXIT_CODES.cancelled;
  } catch (error) {
    if (!(error instanceof NoDaemonError)) throw error;
    const waiting = await listWaiting(stateDir);
    output.result({ outcome: 'none', waiting }, () => [
      'No daemon serves this project.',
      ...waiting.map(describeWaiting),
    ]);
    return EXIT_CODES.finished;
  } finally {
    forgetSignals();
  }
}

/** Agents whose daemon was killed go on: nothing here ends them. */
async function listWaiting(stateDir: string | undefined): Promise<readonly string[]> {
  const standing = await findDaemon({ stateDir });
  return standing.kind === 'none' ? standing.waiting : [];
}

function describeWaiting(runId: string): string {
  return `  ${runId} goes on, and waits for a daemon (limits.adoptWithin): caisson cancel ${runId} ends it, caisson up -d takes it over`;
}

/** Ctrl-C ended only the waiting. */
function describeLeftAlone(order: StopOrder): string {
  if ('now' in order) return 'The daemon goes on stopping its runs. caisson status shows it.';
  if ('leave' in order) return 'The daemon goes on ending, and leaves its agents. caisson status shows it.';
  return 'The daemon goes on draining. caisson status shows it, and caisson down --now ends it.';
}

/** Senses watch nothing without a daemon; threads are records, and the next one goes on with them. */
function describeResidents(residents: number, threads: number): string[] {
  const stopped =
    residents === 1
      ? '1 resident was stopped; the next daemon starts it again'
      : `${residents} residents were stopped; the next daemon starts them again`;
  const left =
    threads === 1
      ? '1 thread has not ended; the next daemon goes on with it'
      : `${threads} threads have not ended; the next daemon goes on with them`;
  return [...(residents === 0 ? [] : [`  ${stopped}`]), ...(threads === 0 ? [] : [`  ${left}`])];
}

interface EndedRun {
  readonly runId: string;
  readonly status: string;
}

/** What became of the runs that the daemon had. */
async function findEnded(
  runs: DaemonStatus['runs'],
  stateDir: string | undefined,
  output: Output,
): Promise<EndedRun[]> {
  if (runs.length === 0) return [];
  return await withCaissonToRead(stateDir, output, async (caisson) => {
    const found = await caisson.runs({ ids: runs.map(({ runId }) => runId) });
    return found.map(({ runId, status }) => ({ runId, status }));
  });
}

function describeEnded({ runId, status }: EndedRun): string {
  if (status === 'running') return `  ${runId} goes on`;
  if (status === 'interrupted' || status === 'cancelled')
    return `  ${runId} was stopped; its work is kept: caisson continue ${runId}`;
  return `  ${runId} is ${status}`;
}

/** A terminal has a line that changes; elsewhere a line appears when the runs change. */
function showProgress(output: Output): (status: DaemonStatus) => void {
  let shown = '';
  return (status) => {
    const runs = describeRuns(status);
    if (output.isInteractive) return output.status(`${runs}${describeLeft(status)}`);
    if (runs !== shown) output.note(runs);
    shown = runs;
  };
}

function describeRuns({ phase, runs, running, queued }: DaemonStatus): string {
  if (runs.length === 0) return 'Waiting for the daemon to end.';
  const names = runs.slice(0, MAX_NAMED).map(({ runId }) => shortId(runId, runs));
  const more = running + queued - names.length;
  const verb = phase === 'stopping' ? 'Stopping' : phase === 'leaving' ? 'Leaving' : 'Waiting for';
  return `${verb} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function describeLeft({ drainsUntil }: DaemonStatus): string {
  if (drainsUntil === undefined) return '';
  return ` At most ${formatDuration(Math.max(0, Date.parse(drainsUntil) - Date.now()))} more.`;
}

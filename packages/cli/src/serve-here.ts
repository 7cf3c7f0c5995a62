/** `caisson up` in the foreground, or as the process that `up -d` and systemd start. */
import { serveProject, type ServedProject } from '@caisson/engine';
import { BusTopic, definedOnly, type StopOrder } from '@caisson/protocol';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import { listBlocked } from './format-residents.ts';
import { cutToWidth, formatDuration, nameFailure } from './format-values.ts';
import type { Output } from './output.ts';
import { line } from './painted.ts';
import { printWarnings } from './print-warnings.ts';
import { onStopSignals } from './stop-signals.ts';
import { VERSION } from './version.ts';
import { keepYoungSpaceSmall } from './young-space.ts';

const MAX_TASK_COLUMNS = 120;
const STOPPING = 'Stopping; the work of its runs is kept. A second signal forces.';
const LEAVING = 'Leaving; running agents go on and wait for the next daemon.';

export async function serveHere(stateDir: string | undefined, output: Output): Promise<ExitCode> {
  let served: ServedProject | null = null;
  let order: StopOrder | null = null;
  const forgetSignals = onStopSignals(({ signal, force }) => {
    order ??= signal === 'SIGINT' ? { now: true } : { leave: true };
    if (force && served === null) {
      // It only starts: what it has adopted waits for the next daemon, as after a kill.
      say(output, 'Forcing.');
      process.exit(EXIT_CODES.cancelled);
    }
    say(output, force ? 'Forcing.' : 'now' in order ? STOPPING : LEAVING);
    if (force) served?.force();
    else served?.stop(order);
  });
  keepYoungSpaceSmall();
  try {
    served = await serveProject({
      version: VERSION,
      onNotice: (message) => output.note(`${stamp()}note: ${message}`),
      ...definedOnly({ stateDir }),
    });
    report(served, output);
    if (order !== null) served.stop(order); // it came while it was starting
    await served.ended;
  } finally {
    forgetSignals();
  }
  say(output, 'Ended.');
  return EXIT_CODES.finished;
}

/** One line when it serves, and for each start and end of a run. */
function report({ caisson, status }: ServedProject, output: Output): void {
  printWarnings(caisson, output, stamp);
  const { pid, projectRoot, socket, residents } = status();
  say(output, `Serving ${projectRoot} (pid ${pid}, ${socket}). To end it: Ctrl-C or caisson down.`);
  for (const text of listBlocked(residents)) output.note(line`${stamp()}warning: residents: ${text}`);
  output.event({ type: 'daemon.serving', ...status() });
  caisson.bus.on(BusTopic.RUN_STARTED, ({ runId, attempt, runtime, task }) => {
    const again = attempt > 1 ? `, attempt ${attempt}` : '';
    say(output, `${runId} started (${runtime}${again}): ${oneLine(task)}`);
  });
  caisson.bus.on(BusTopic.RUN_FINISHED, ({ runId, status: ending, durationMs, failure }) => {
    const why = failure === undefined ? '' : `, ${nameFailure(failure)}: ${oneLine(failure.detail)}`;
    say(output, `${runId} ${ending} after ${formatDuration(durationMs)}${why}`);
  });
}

/** With the time: these lines are read later. */
function say(output: Output, text: string): void {
  output.line(`${stamp()}${text}`);
}

function stamp(): string {
  return `${new Date().toISOString().slice(0, 19)}Z `;
}

function oneLine(text: string): string {
  return cutToWidth(text.slice(0, 1000).replaceAll(/\s+/g, ' ').trim(), MAX_TASK_COLUMNS);
}

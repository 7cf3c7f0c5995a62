/** Runs one command of the operator (setup, gate, verify, clean room) in the sandbox: limited in time and output. */
import { launchSandbox, systemClock } from '@caisson/ground';
import { definedOnly, type Failure, type Job } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import { createHeadAndTail } from './head-and-tail.ts';
import { underDiskWatch } from './disk-watch.ts';
import { obeyStop } from './obey-stop.ts';
import { buildSandboxSpec, type SandboxPurpose } from '../view/index.ts';

const MAX_OUTPUT_BYTES = 256 * 1024;

export interface CommandOutcome {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** The limit that ended it, if one did. */
  readonly limit?: Failure;
  readonly stopped: boolean;
  readonly durationMs: number;
  /** Without its middle where it is long. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly purpose: SandboxPurpose;
  readonly command: string;
  readonly timeoutMs: number;
  /** The job with other folders, for the clean room. */
  readonly job?: Job;
}

export function runInSandbox(context: AttemptContext, options: CommandOptions): Promise<CommandOutcome> {
  return underDiskWatch(context, () => runWatched(context, options), options.job);
}

async function runWatched(context: AttemptContext, options: CommandOptions): Promise<CommandOutcome> {
  const { control } = context;
  const startedAt = performance.now();
  const spec = buildSandboxSpec(options.job ?? context.job, {
    purpose: options.purpose,
    network: context.network,
    argv: ['/bin/sh', '-c', options.command],
    env: context.env,
  });
  const process = await launchSandbox(spec);
  context.running = process;
  context.script = `${options.purpose} script`;
  context.writer.write({
    kind: 'sandbox.started',
    purpose: options.purpose,
    pid: process.pid,
    startTime: process.startTime,
    enforced: {},
  });
  const stdout = collect(context, process.stdout);
  const stderr = collect(context, process.stderr);
  let timedOut = false;
  const stopTimer = systemClock.setTimer(options.timeoutMs, () => {
    timedOut = true;
    process.kill();
  });
  const stopObeying = obeyStop(context, process);
  try {
    const exit = await process.exited;
    return {
      exitCode: exit.code,
      timedOut,
      ...definedOnly({ limit: context.gathered.limit }),
      stopped: control.stop.aborted,
      durationMs: Math.round(performance.now() - startedAt),
      stdout: stdout(),
      stderr: stderr(),
    };
  } finally {
    stopTimer();
    stopObeying();
    context.running = null;
    context.script = null;
  }
}

function collect(context: AttemptContext, stream: NodeJS.ReadableStream): () => string {
  const kept = createHeadAndTail(MAX_OUTPUT_BYTES);
  const redacting = context.redactor.createStream();
  stream.on('data', (chunk: Buffer) => {
    context.printedBytes += chunk.length;
    kept.push(redacting.push(chunk));
  });
  return () => {
    kept.push(redacting.flush());
    return kept.text();
  };
}

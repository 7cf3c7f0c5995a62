/**
 * Carries out commands that only read, one after the other, in one process that lives on: to start a process for each
 * would take longer than everything else in a case. The code is that of the CLI; only its start is left out.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../../../packages/cli/src/command-table.ts';
import { runCli } from '../../../packages/cli/src/run-cli.ts';
import type { CliRun } from '../../e2e/open-project.ts';

interface Order {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

let reader: ChildProcess | null = null;
let last: Promise<unknown> = Promise.resolve();

/** In order; the process is started on first use and keeps nobody alive. */
export function readByCli(order: Order): Promise<CliRun> {
  const next = last.then(() => ask(order));
  last = next.catch(() => undefined);
  return next;
}

async function ask(order: Order): Promise<CliRun> {
  reader ??= startReader();
  reader.ref();
  reader.send(order);
  const answer = await awaitAnswer(reader);
  reader.unref();
  reader.channel?.unref();
  return answer;
}

async function awaitAnswer(process: ChildProcess): Promise<CliRun> {
  const over = new AbortController();
  const ended = once(process, 'exit', over).then(() => Promise.reject(new Error('the reader ended')));
  try {
    const [answer] = (await Promise.race([once(process, 'message', over), ended])) as [CliRun];
    return answer;
  } finally {
    over.abort();
  }
}

function startReader(): ChildProcess {
  const started = fork(fileURLToPath(import.meta.url), { cwd: '/' });
  started.once('exit', () => (reader = null));
  return started;
}

if (import.meta.main)
  process.on('message', (order: Order) => void obey(order).then((answer) => process.send?.(answer)));

async function obey({ args, cwd, env }: Order): Promise<CliRun> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const [stdout, stderr] = [createSink(), createSink()];
  const code = await runCli(args, COMMANDS, { stdout: stdout.stream, stderr: stderr.stream });
  process.chdir('/'); // so that the case's disk can be taken away
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** What would be a stream that is no terminal. */
function createSink(): { stream: NodeJS.WriteStream; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY: false }) as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
}

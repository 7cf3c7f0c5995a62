import type { Caisson } from '@caisson/engine';
import { toWire, type DispatchResult, type EventEnvelope, type WireEvent } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { createNews, type NewsOptions } from '../format-news.ts';
import type { Output } from '../output.ts';
import { textLines } from '../painted.ts';
import { printWarnings } from '../print-warnings.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN] [-f] [--all [--verbose]] [--after SEQ] [--stdout | --stderr | --verify] [--raw]',
  about:
    'Of the newest run if RUN is left out. Events by default, each in words (-o ndjson has all of each); with -f also what is\n' +
    'not recorded, as it happens, whichever process drives the run. With --stdout or --stderr what the agent itself printed:\n' +
    'byte by byte into a file or a pipe; escaped on a terminal, unless --raw; in base64 with -o json or ndjson. With --all -f\n' +
    'the events of all runs, and of senses, workflows and schedules, until Ctrl-C.',
  options: {
    follow: { type: 'boolean', short: 'f', summary: 'continue until the run has ended' },
    all: { type: 'boolean', summary: 'with -f: everything that happens in the project from now on' },
    verbose: {
      type: 'boolean',
      summary: 'with --all: also each compute of a sense that emitted nothing and went as the one before',
    },
    after: {
      type: 'string',
      value: 'SEQ',
      summary: 'only events after this sequence number; with --all after this offset',
    },
    stdout: { type: 'boolean', summary: "the agent's stdout" },
    stderr: { type: 'boolean', summary: "the agent's stderr" },
    verify: { type: 'boolean', summary: 'what the check of its work printed' },
    raw: {
      type: 'boolean',
      summary: 'let the terminal interpret what the agent printed: colours, and anything else',
    },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson logs latest -f', says: 'Follow the newest run.' },
    { line: 'caisson logs latest --after 12 -o ndjson', says: 'Continue from a cursor.' },
    { line: 'caisson logs --all -f', says: 'Watch the project: runs, senses, workflows and schedules.' },
    { line: 'caisson logs latest --stdout -f', says: 'What the agent prints, as it prints it.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const runId = positionals[0] ?? 'latest';
      printWarnings(caisson, output);
      if (options.all) return await followAll(caisson, positionals, options, output);
      if (options.verify) return await printCheck(await caisson.show(runId), output);
      if (options.stdout || options.stderr) {
        const name = options.stdout ? 'stdout' : 'stderr';
        const chunks = options.follow
          ? caisson.followLog(runId, name, { signal: output.closed })
          : [await caisson.log(runId, name)];
        await printLog(chunks, name, output, options.raw);
        return EXIT_CODES.finished;
      }
      const after = readAfter(options.after);
      const print = createPrinter(output);
      const events = options.follow
        ? caisson.follow(runId, { after, signal: output.closed })
        : await caisson.events(runId, { after });
      const all: WireEvent[] = [];
      if (options.follow && output.format === 'json') output.note(NOT_YET);
      for await (const event of events) {
        if (output.format !== 'json') print(event);
        else if (event.seq > 0) all.push(toWire(event)); // one value at the end: what is live has no meaning in it
      }
      if (output.format === 'json') output.result(all, () => []);
      return EXIT_CODES.finished;
    }),
});

const NOT_YET =
  'note: -o json prints one value, when the run has ended; -o ndjson prints each event as it comes';

/** Of the project: each event begins with whose it is. */
async function followAll(
  caisson: Caisson,
  positionals: readonly string[],
  options: { readonly follow: boolean; readonly verbose: boolean; readonly after: string | undefined },
  output: Output,
): Promise<ExitCode> {
  if (!options.follow || positionals.length > 0)
    throw new UsageError('--all follows the whole project: it needs -f, and no run', {
      remedy: 'caisson logs --all -f',
    });
  const after = options.after === undefined ? {} : { after: readAfter(options.after) };
  const print = createPrinter(output, {
    nameOf: ({ runId }) => `${(runId ?? 'project').slice(-8).padEnd(8)} `,
    isVerbose: options.verbose,
  });
  for await (const event of caisson.follow({ ...after, signal: output.closed })) print(event);
  return EXIT_CODES.finished;
}

/** All that is kept of it: a check that prints more has a middle that is left out. */
async function printCheck({ runId, result }: DispatchResult, output: Output): Promise<ExitCode> {
  const verify = result?.verify;
  if (verify === undefined) throw new UsageError(`${runId} has no check that ran`);
  output.result(verify, () => textLines(verify.report.trimEnd(), ''));
  return EXIT_CODES.finished;
}

/** An agent's output may not be text. A program gets it in base64: complete with `json`, in pieces with `ndjson`. */
async function printLog(
  chunks: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  stream: 'stdout' | 'stderr',
  output: Output,
  isRaw: boolean,
): Promise<void> {
  const all: Uint8Array[] = [];
  const describe = (bytes: Buffer) => ({
    stream,
    log: bytes.toString('base64'),
    encoding: 'base64',
    bytes: bytes.length,
  });
  for await (const chunk of chunks) {
    if (output.format === 'human') output.copy(chunk, { isRaw });
    else if (output.format === 'json') all.push(chunk);
    else if (chunk.length > 0) output.event(describe(Buffer.from(chunk)));
  }
  if (output.format === 'json') output.result(describe(Buffer.concat(all)), () => []);
}

function readAfter(text: string | undefined): number {
  const after = Number(text ?? 0);
  if (!Number.isInteger(after) || after < 0)
    throw new UsageError(`--after needs a sequence number, got "${text ?? ''}"`);
  return after;
}

/** A person sees news only; a program sees all of it. */
function createPrinter(output: Output, how: NewsOptions = {}): (event: EventEnvelope) => void {
  const format = createNews(output.style, output.wrapColumns, how);
  return (event) => {
    if (output.format !== 'human') return output.event(toWire(event));
    const lines = format(event);
    if (lines.length > 0) output.line(lines);
  };
}

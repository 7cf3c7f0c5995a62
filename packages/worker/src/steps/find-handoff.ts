/**
 * The agent's hand-off, from its mailbox: the tool `hand_off` writes the file, and so may the agent. Whatever is there
 * fails no run: the work is done, and a hand-off that cannot be read is reported as such.
 */
import { join } from 'node:path';
import { FileTooLargeError, isErrno, NotARegularFileError, readFileCapped } from '@caisson/ground';
import {
  AgentHandoff,
  definedOnly,
  describeHandoffProblems,
  type FoundHandoff,
  type HandoffProblem,
} from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';

const HANDOFF_FILE = 'handoff.json';
const MAX_HANDOFF_BYTES = 1024 * 1024;

/** Gathers the hand-off, if there is one. The last one that can be taken counts. */
export async function findHandoff(context: AttemptContext): Promise<void> {
  const { job, gathered, redactor, writer } = context;
  const { handedOff } = gathered;
  const warn = (message: string): void =>
    void writer.write({ kind: 'warning', source: 'handoff', message: redactor.redact(message) });
  const isOlder = context.isFromBefore(HANDOFF_FILE);
  const read = isOlder ? null : await readHandoff(join(job.paths.mailbox, HANDOFF_FILE));
  const said = handedOff.at(-1);
  const isRead = read !== null && 'given' in read;
  const found = isRead || said === undefined ? read : { given: said };
  if (found !== null) gathered.handoff = withoutSecrets(found, (text) => redactor.redact(text));
  if (!isRead && said !== undefined)
    warn(`${describeLost(read)} after the tool hand_off was called; the input of the tool counts`);
  if (handedOff.length > 1) warn(`the agent handed off ${handedOff.length} times; the last one counts`);
}

const describeLost = (read: { problem: HandoffProblem } | null): string =>
  read === null ? `${HANDOFF_FILE} was deleted` : `${HANDOFF_FILE} was changed (${read.problem.detail})`;

async function readHandoff(path: string): Promise<FoundHandoff | null> {
  let bytes: Buffer;
  try {
    bytes = await readFileCapped(path, MAX_HANDOFF_BYTES, { noFollow: true });
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    return refuse('unparseable', describeUnread(error));
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return refuse('unparseable', `${HANDOFF_FILE} is not JSON: ${(error as Error).message}`);
  }
  const parsed = AgentHandoff.safeParse(value);
  if (parsed.success) return { given: parsed.data };
  const why = describeHandoffProblems(value, parsed.error);
  return refuse('wrong-shape', `${HANDOFF_FILE} is not a hand-off: ${why}`);
}

function refuse(kind: HandoffProblem['kind'], detail: string): FoundHandoff {
  return { problem: { kind, detail } };
}

function describeUnread(error: unknown): string {
  if (error instanceof NotARegularFileError || isErrno(error, 'ELOOP', 'ENXIO'))
    return `${HANDOFF_FILE} is not a regular file`;
  if (error instanceof FileTooLargeError)
    return `${HANDOFF_FILE} is larger than the ${MAX_HANDOFF_BYTES} bytes that are read`;
  return `${HANDOFF_FILE} cannot be read: ${(error as Error).message}`;
}

/** A mark in place of a secret may be longer than it: what the schema limits is cut again. */
function withoutSecrets(found: FoundHandoff, redact: (text: string) => string): FoundHandoff {
  if ('problem' in found) {
    const { kind, detail } = found.problem;
    return refuse(kind, redact(detail).slice(0, 2048));
  }
  const { status, summary, concerns, suggestions } = found.given;
  const each = (texts: string[] | undefined) => texts?.map((text) => redact(text).slice(0, 4096));
  const remarks = definedOnly({ concerns: each(concerns), suggestions: each(suggestions) });
  return { given: { status, summary: redact(summary).slice(0, 65_536), ...remarks } };
}

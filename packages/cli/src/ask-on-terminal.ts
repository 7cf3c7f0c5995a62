/**
 * Asks the person at the terminal about calls that wait. The first decision counts, here or elsewhere.
 *
 * TA1  Only what is typed at an open prompt decides. Earlier input in the terminal, half a line too, was meant for
 *      something else; and what is typed in the first moment was typed before the question was read.
 * TA2  A question that is decided elsewhere drops its typed input: the next one starts empty, and no prompt is left.
 */
import { readFileSync } from 'node:fs';
import type { ApprovalDecision } from '@caisson/engine';
import type { EventEnvelope } from '@caisson/protocol';
import type { Output } from './output.ts';
import { line, type Line, type Lines } from './painted.ts';
import { hintWhole } from './hint-whole.ts';

export type Decide = (approvalId: string, decision: ApprovalDecision) => Promise<unknown>;

export interface TerminalAsker {
  receive(event: EventEnvelope): void;
  stop(): void;
}

const QUIET_MS = 300;
const INTERRUPT = 3;

export function createTerminalAsker(
  output: Output,
  decide: Decide,
  { input = process.stdin, stateDir }: { input?: NodeJS.ReadStream; stateDir?: string | undefined } = {},
): TerminalAsker {
  if (!output.isInteractive || output.format !== 'human' || !input.isTTY)
    return { receive: () => undefined, stop: () => undefined };
  const open: { id: string; lines: Lines }[] = [];
  const drain = createDrain(input);
  const ask = (): void => {
    const [first] = open;
    input.off('data', onData);
    output.endPrompt('dropped');
    drain.stop();
    if (first === undefined || !isForeground()) {
      input.pause();
      return;
    }
    output.note(first.lines);
    drain.start((hasDropped) => {
      const dropped = hasDropped ? 'What was typed before is ignored. ' : '';
      output.prompt(`${dropped}y allows it, anything else denies it  [y/N] `);
      input.on('data', onData);
    });
    input.unref();
  };
  const onData = (chunk: Buffer): void => {
    const first = open.shift();
    if (first === undefined) return;
    output.endPrompt('answered');
    const decision = /^\s*y(es)?\s*$/i.test(chunk.toString('utf8')) ? 'allow' : 'deny';
    decide(first.id, decision).catch((error: unknown) => output.note((error as Error).message));
    ask();
  };
  return {
    receive(event) {
      if (event.type === 'approval.requested') {
        const lines = [line`${output.style.bold('Allow?')} ${event.what}`, ...hintWhole(event, stateDir)];
        open.push({ id: event.approvalId, lines });
        if (open.length === 1) ask();
      }
      if (event.type !== 'approval.decided') return;
      const index = open.findIndex((entry) => entry.id === event.approvalId);
      if (index === -1) return;
      open.splice(index, 1);
      if (index === 0) output.endPrompt('dropped');
      output.note(`Decided elsewhere: ${event.decision} (${event.by}).`);
      if (index === 0) ask();
    },
    stop() {
      input.off('data', onData);
      output.endPrompt('dropped');
      drain.stop();
      input.pause();
    },
  };
}

/** Whether a person can be asked here. */
export function canAsk(output: Output, input: NodeJS.ReadStream = process.stdin): boolean {
  return output.isInteractive && output.format === 'human' && input.isTTY && isForeground();
}

/** What the person types at an open prompt (TA1); empty if no one can be asked, or at the end of input. */
export function askOnTerminal(
  output: Output,
  question: Line,
  input: NodeJS.ReadStream = process.stdin,
): Promise<string> {
  if (!canAsk(output, input)) return Promise.resolve('');
  return new Promise((resolve) => {
    const drain = createDrain(input);
    drain.start(() => {
      output.prompt(line`${question} `);
      const onData = (chunk: Buffer): void => answer(chunk.toString('utf8').trim(), 'answered');
      const onEnd = (): void => answer('', 'dropped');
      const answer = (text: string, how: 'answered' | 'dropped'): void => {
        input.off('data', onData).off('end', onEnd).off('error', onEnd).pause();
        output.endPrompt(how);
        resolve(text);
      };
      input.on('data', onData).on('end', onEnd).on('error', onEnd); // a terminal that is gone is an error
    });
  });
}

/** Whether the person agrees. */
export async function confirmOnTerminal(
  output: Output,
  question: string,
  input: NodeJS.ReadStream = process.stdin,
): Promise<boolean> {
  const asked = line`${output.style.bold(question)}  y continues, anything else stops  [y/N]`;
  return /^y(es)?$/i.test(await askOnTerminal(output, asked, input));
}

interface Drain {
  /** Drops input until none came for a moment. */
  start(done: (hasDropped: boolean) => void): void;
  stop(): void;
}

/** Only a raw terminal delivers half a line. It also delivers ^C, which stays an interrupt. */
function createDrain(input: NodeJS.ReadStream): Drain {
  let timer: NodeJS.Timeout | undefined;
  let hasDropped = false;
  const drop = (chunk: Buffer): void => {
    hasDropped = true;
    timer?.refresh();
    if (chunk.includes(INTERRUPT)) process.kill(process.pid, 'SIGINT');
  };
  const stop = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    input.off('data', drop);
    input.setRawMode(false);
  };
  return {
    start(done) {
      hasDropped = false;
      timer = setTimeout(() => {
        stop();
        done(hasDropped);
      }, QUIET_MS);
      input.setRawMode(true);
      input.on('data', drop);
      input.resume();
    },
    stop,
  };
}

/** The kernel stops a background job that reads from its terminal; it must not even try. */
export function isForeground(): boolean {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === foreground;
}

/** Asks the person at the terminal about calls that are held. Whoever decides first counts, here or elsewhere. */
import { readFileSync } from 'node:fs';
import type { ApprovalDecision } from '@caisson/engine';
import type { EventEnvelope } from '@caisson/protocol';
import type { Output } from './output.ts';
import { printable } from './printable.ts';

export type Decide = (approvalId: string, decision: ApprovalDecision) => Promise<unknown>;

export interface TerminalAsker {
  hear(event: EventEnvelope): void;
  stop(): void;
}

export function createTerminalAsker(
  output: Output,
  decide: Decide,
  input: NodeJS.ReadStream = process.stdin,
): TerminalAsker {
  if (!output.isInteractive || !input.isTTY) return { hear: () => undefined, stop: () => undefined };
  const open: { id: string; what: string }[] = [];
  const ask = (): void => {
    const [first] = open;
    input.off('data', onData);
    if (first === undefined || !isForeground()) {
      input.pause();
      return;
    }
    output.note(`${output.style.bold('Allow?')} ${printable(first.what)}  [y/N]`);
    input.on('data', onData);
    input.resume();
    input.unref();
  };
  const onData = (chunk: Buffer): void => {
    const first = open.shift();
    if (first === undefined) return;
    const decision = /^\s*y(es)?\s*$/i.test(chunk.toString('utf8')) ? 'allow' : 'deny';
    decide(first.id, decision).catch((error: unknown) => output.note((error as Error).message));
    ask();
  };
  return {
    hear(event) {
      const id = String(event['approvalId']);
      if (event.type === 'approval.requested') {
        open.push({ id, what: String(event['what']) });
        if (open.length === 1) ask();
      }
      if (event.type !== 'approval.decided') return;
      const index = open.findIndex((entry) => entry.id === id);
      if (index === -1) return;
      open.splice(index, 1);
      output.note(`Decided elsewhere: ${String(event['decision'])} (${String(event['by'])}).`);
      if (index === 0) ask();
    },
    stop() {
      input.off('data', onData);
      input.pause();
    },
  };
}

/** A job in the background that reads from its terminal is stopped by the kernel; it must not even try. */
function isForeground(): boolean {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === foreground;
}

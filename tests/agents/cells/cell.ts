/** What the cells share: the form of a cell, the turns of a script, and what they look at. */
import type { ScriptTurn } from '@caisson/testkit';
import { expect } from 'vitest';
import { pidsWith } from '../../e2e/project.ts';
import type { AgentRun, Stage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';

export interface Cell {
  readonly title: string;
  /** Also part of `npm test`. */
  readonly isShort: boolean;
  /** The text of the table when it passed; default `pass`. */
  prove(agent: AgentUnderTest): Promise<string | void>;
}

export const usage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0) => ({
  usage: { inputTokens, outputTokens, cacheReadTokens },
});
export const runCommand = (command: string): ScriptTurn => ({
  tool: { intent: 'run-command', command },
  ...usage(50, 9),
});
export const ASK = JSON.stringify({ question: 'Which colour?', options: ['red', 'blue'] });
/** A name of its own, so that the tool is found among all processes and never mistaken for another test's. */
export const uniqueMark = (): string => `endless-${process.pid}-${Math.floor(Math.random() * 1e9)}`;
/** Not `sleep`, which Claude Code refuses to run. */
export const waitForever = (mark: string): ScriptTurn => runCommand(`touch ${mark} && tail -f ${mark}`);
export const isToolRunning = (mark: string): boolean => pidsWith(`tail -f ${mark}`).length > 0;

export function expectDone(ran: AgentRun, reply: string): void {
  expect([ran.failure, ran.status, ran.exitCode, ran.reply]).toEqual([undefined, 'done', 0, reply]);
}

/** The patch of the run, as text. */
export async function diffOf({ project }: Stage, { runId }: AgentRun): Promise<string> {
  return (await project.caisson('diff', runId)).stdout;
}

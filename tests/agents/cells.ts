/** What every real agent is put through. One cell is one run from `caisson run` to its sealed ending. */
import type { Cell } from './cells/cell.ts';
import { edit, command, sampling, misspelt, board, hostile } from './cells/work.ts';
import { denied, suggest, fullAuto, loop, failingLoop, approval } from './cells/policy.ts';
import { budget, beats, timeout, cancel } from './cells/limits.ts';
import { auth, cut, cutOnce, endless, overloaded, refused } from './cells/model-failures.ts';
import { pool } from './cells/pool.ts';
import { continued, needsInput, resume, retry } from './cells/going-on.ts';
import { megabytes, message, refusedByItself, retryFailure } from './cells/robustness.ts';

export const CELLS: readonly Cell[] = [
  { title: 'edits a file', isShort: true, prove: edit },
  { title: 'runs a command', isShort: false, prove: command },
  { title: 'takes of its agent', isShort: false, prove: sampling },
  { title: 'is denied by policy', isShort: true, prove: denied },
  { title: 'obeys no settings of the repository', isShort: true, prove: hostile },
  { title: 'repeats a denied call', isShort: false, prove: loop },
  { title: 'repeats a failing call', isShort: false, prove: failingLoop },
  { title: 'calls a tool that is not there', isShort: false, prove: misspelt },
  { title: 'changes nothing in suggest', isShort: false, prove: suggest },
  { title: 'is denied in full-auto too', isShort: false, prove: fullAuto },
  { title: 'is held for long, then approved', isShort: false, prove: approval },
  { title: 'needs input', isShort: false, prove: needsInput },
  { title: 'uses the board', isShort: false, prove: board },
  { title: 'works for a pool, and hands off', isShort: false, prove: pool },
  { title: 'exceeds its budget', isShort: false, prove: budget },
  { title: 'beats with what its model answered', isShort: false, prove: beats },
  { title: 'times out inside a tool', isShort: false, prove: timeout },
  { title: 'is cancelled inside a tool', isShort: true, prove: cancel },
  { title: 'fails to log in', isShort: true, prove: auth },
  { title: 'meets an overloaded model', isShort: false, prove: overloaded },
  { title: 'is refused by the model', isShort: false, prove: refused },
  { title: 'gets half an answer', isShort: false, prove: cut },
  { title: 'has its stream cut once', isShort: false, prove: cutOnce },
  { title: 'gets errors without end', isShort: false, prove: endless },
  { title: 'resumes its session', isShort: false, prove: resume },
  { title: 'goes on after a retry', isShort: false, prove: retry },
  { title: 'gets a further order after its run has ended', isShort: false, prove: continued },
  { title: 'fails, and is retried', isShort: false, prove: retryFailure },
  { title: 'is sent a message', isShort: false, prove: message },
  { title: 'prints megabytes', isShort: false, prove: megabytes },
  { title: 'may refuse what was approved', isShort: false, prove: refusedByItself },
];

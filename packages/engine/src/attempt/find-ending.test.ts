import type { Result } from '@caisson/protocol';
import { expect, it } from 'vitest';
import type { WorkerEnd } from '../supervision/index.ts';
import { findEnding } from './find-ending.ts';

const END = { refusal: null, stopped: null, lastWord: undefined } as unknown as WorkerEnd;
const LIMITS = { events: () => ({ oomKills: 0, pidsMax: 0 }) } as Parameters<typeof findEnding>[2];
const EMPTY = Buffer.alloc(0);
const NOBODY = { refusals: 0, lastStop: null, lastFailure: null };
const BEFORE = { ...NOBODY, refusals: 1 };
const AT_LAST = { ...BEFORE, lastStop: 'refusal' as const };

const finished = { kind: 'valid', result: { status: 'finished' } as Result, bytes: EMPTY } as const;
const failedBy = (cause: string) => {
  const failure = { reason: 'provider-failed', cause, detail: 'as reported' };
  return { kind: 'valid', result: { status: 'failed', failure } as Result, bytes: EMPTY } as const;
};

it('an agent that ends without a word after a refusal was refused', () => {
  for (const cause of ['empty-answer', 'tool-failure'])
    expect(findEnding(failedBy(cause), END, LIMITS, BEFORE)).toMatchObject({
      failure: { reason: 'provider-failed', cause: 'refusal' },
    });
  expect(findEnding(failedBy('empty-answer'), END, LIMITS, NOBODY)).toMatchObject({
    failure: { cause: 'empty-answer' },
  });
});

it('an API error that was a refusal is one', () => {
  const ending = (seen: typeof AT_LAST | typeof BEFORE) =>
    findEnding(failedBy('api-error'), END, LIMITS, seen);
  expect(ending(AT_LAST)).toMatchObject({ failure: { cause: 'refusal' } });
  expect(ending(BEFORE)).toMatchObject({ failure: { cause: 'api-error' } });
});

it('the failure that an agent reports stays', () => {
  for (const cause of ['auth', 'overloaded', 'crash'])
    expect(findEnding(failedBy(cause), END, LIMITS, AT_LAST)).toMatchObject({ failure: { cause } });
});

it('the words before a refusal are no answer; a refusal on the way is none', () => {
  expect(findEnding(finished, END, LIMITS, AT_LAST)).toMatchObject({ failure: { cause: 'refusal' } });
  expect(findEnding(finished, END, LIMITS, { ...NOBODY, lastStop: 'max-tokens' })).toMatchObject({
    failure: { reason: 'provider-failed', cause: 'max-tokens' },
  });
  expect(findEnding(finished, END, LIMITS, BEFORE)).toEqual({ kind: 'finished' });
  expect(findEnding(finished, END, LIMITS)).toEqual({ kind: 'finished' });
});

it('an answer that broke off because the model was busy may be tried again, whatever the agent calls it', () => {
  const seen = { ...NOBODY, lastFailure: { cause: 'overloaded' as const, detail: 'HTTP 529' } };
  for (const cause of ['api-error', 'empty-answer'])
    expect(findEnding(failedBy(cause), END, LIMITS, seen)).toMatchObject({
      failure: { cause: 'overloaded', detail: 'as reported' },
    });
  expect(findEnding(failedBy('auth'), END, LIMITS, seen)).toMatchObject({ failure: { cause: 'auth' } });
});

it('a connection that brought an answer was there, also where the agent says that it broke', () => {
  for (const cause of ['overloaded', 'rate-limit', 'auth', 'api-error'] as const) {
    const seen = { ...NOBODY, lastFailure: { cause, detail: 'ended with an error' } };
    expect(findEnding(failedBy('no-connection'), END, LIMITS, seen)).toMatchObject({
      failure: { cause, detail: 'ended with an error; the agent reported: as reported' },
    });
  }
  const seen = { ...NOBODY, lastFailure: { cause: 'no-connection' as const, detail: 'not reached' } };
  expect(findEnding(failedBy('no-connection'), END, LIMITS, seen)).toMatchObject({
    failure: { cause: 'no-connection', detail: 'as reported' },
  });
});

it('a run whose last request to the model failed is not done, whatever the agent says', () => {
  const seen = { ...NOBODY, lastFailure: { cause: 'auth' as const, detail: 'HTTP 401' } };
  expect(findEnding(finished, END, LIMITS, seen)).toEqual({
    kind: 'failed',
    failure: {
      reason: 'provider-failed',
      cause: 'auth',
      detail: 'HTTP 401, though the agent said that it is done',
    },
  });
});

it('an answer that was cut off is named so, and not by what the agent makes of it', () => {
  const seen = { ...NOBODY, lastFailure: { cause: 'stream-cut' as const, detail: 'cut off' } };
  for (const cause of ['no-connection', 'api-error', 'empty-answer'])
    expect(findEnding(failedBy(cause), END, LIMITS, seen)).toMatchObject({
      failure: { cause: 'stream-cut' },
    });
  for (const cause of ['max-turns', 'crash'])
    expect(findEnding(failedBy(cause), END, LIMITS, seen)).toMatchObject({ failure: { cause } });
});

it('a limit that kills a sandbox before its program runs is named', () => {
  const limits = { events: () => ({ oomKills: 1, pidsMax: 0 }) } as typeof LIMITS;
  const failedIn = (step: number) => {
    const failure = { reason: 'worker-failed', step, detail: 'the sandbox ended' };
    return { kind: 'valid', result: { status: 'failed', failure } as Result, bytes: EMPTY } as const;
  };
  for (const step of [9, 11])
    expect(findEnding(failedIn(step), END, limits)).toMatchObject({
      failure: {
        reason: 'worker-failed',
        cause: 'oom',
        detail: 'the memory limit killed a process. the sandbox ended',
      },
    });
  expect(findEnding(failedIn(13), END, limits)).toMatchObject({ failure: { detail: 'the sandbox ended' } });
});

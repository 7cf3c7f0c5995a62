import type { DispatchResult, Grant } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { TaskRefusedError, type DispatchRequest, type RunHandle } from '../admission/index.ts';
import { createMemoryLedger } from '../ledger/index.ts';
import type { Approvals } from '../questions/index.ts';
import type { Store } from '../store/index.ts';
import { createRequestHandler } from './request-handler.ts';

const grant: Grant = {
  mode: 'auto-edit',
  read: ['/'],
  write: ['/project'],
  hosts: [],
  tools: ['dispatch'],
  limits: {},
  budget: {},
  depth: 1,
  sandbox: 'bwrap',
};
const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const run = { runId: 'run_parent', attempt: 1, grant, session: null, trace, emit: () => Promise.resolve() };
const child = 'run_00000000000000000002';

function open(options: { refuse?: boolean; parentRuntime?: string } = {}) {
  const asked: DispatchRequest[] = [];
  let cancelled = 0;
  const ended = Promise.withResolvers<DispatchResult>();
  const handle = {
    runId: child,
    ended: ended.promise,
    cancel: () => (cancelled += 1),
  } as unknown as RunHandle;
  const approvals: Approvals = {
    request: () => Promise.resolve({ decision: 'allow', by: 'user' }),
    decide: () => Promise.resolve(false),
    close: () => Promise.resolve(),
  };
  const ledger = createMemoryLedger();
  const { parentRuntime: runtime } = options;
  if (runtime !== undefined) ledger.run = (runId) => ({ runId, runtime }) as ReturnType<typeof ledger.run>;
  const handler = createRequestHandler({
    approvals,
    rooms: { ledger, store: {} as Store },
    dispatch(request) {
      asked.push(request);
      if (options.refuse === true)
        throw new TaskRefusedError({ check: 'dispatch-depth', kind: 'policy', detail: 'no deeper' });
      return Promise.resolve(handle);
    },
  });
  return { handler, asked, ended, cancelled: () => cancelled };
}
const dispatch = (body: Record<string, unknown>) => ({
  id: '1',
  request: 'dispatch',
  body,
  waitedMs: null,
});
const idempotencyKey = 'run_parent.1.1';

describe('the request handler', () => {
  test('dispatches for an agent with its own grant as the parent’s, in its session', async () => {
    const { handler, asked, ended } = open();
    const answer = handler.answer(run, dispatch({ task: 'do it', mode: 'full-auto' }));
    ended.resolve({ runId: child, status: 'done', reply: 'done', result: null } as unknown as DispatchResult);
    expect(await answer).toEqual({
      ok: true,
      value: { runId: child, status: 'done', reply: 'done', patchBytes: 0 },
    });
    expect(asked).toEqual([
      {
        ...{ task: 'do it', mode: 'full-auto', session: 'run_parent', idempotencyKey },
        parent: { runId: 'run_parent', grant },
        trace,
      },
    ]);
  });

  test.each([
    ['codex', {}, 'codex'],
    ['codex', { runtime: 'native' }, 'native'],
    ['codex', { agent: 'reviewer' }, undefined],
    ['command', {}, undefined],
  ])('a child of a run of %s that asks with %j runs in %s', async (parentRuntime, choice, runtime) => {
    const { handler, asked, ended } = open({ parentRuntime });
    ended.resolve({ runId: child, status: 'done', reply: '', result: null } as unknown as DispatchResult);
    await handler.answer(run, dispatch({ task: 'x', ...choice }));
    expect(asked[0]?.runtime).toBe(runtime);
  });

  test('takes nothing from an agent but what it may choose', async () => {
    const { handler, asked, ended } = open();
    ended.resolve({ runId: child, status: 'done', reply: '', result: null } as unknown as DispatchResult);
    await handler.answer(
      run,
      dispatch({
        task: 'x',
        sandbox: 'none',
        secrets: { A: 'file:/etc/passwd' },
        parent: null,
        session: 'other',
        argv: ['sh'],
      }),
    );
    expect(asked).toEqual([
      { task: 'x', session: 'run_parent', idempotencyKey, parent: { runId: 'run_parent', grant }, trace },
    ]);
  });

  test('reports a refusal in words', async () => {
    const { handler } = open({ refuse: true });
    expect(await handler.answer(run, dispatch({ task: 'x' }))).toMatchObject({
      ok: false,
      value: expect.stringContaining('no deeper'),
    });
  });

  test('refuses a malformed request', async () => {
    const { handler } = open();
    await expect(handler.answer(run, dispatch({ mode: 'full-auto' }))).rejects.toThrow();
  });

  test('cancels the children of a run that has ended', async () => {
    const { handler, ended, cancelled } = open();
    const answer = handler.answer(run, dispatch({ task: 'x' }));
    await Promise.resolve();
    await handler.close('run_other', run.emit);
    expect(cancelled()).toBe(0);
    await handler.close('run_parent', run.emit);
    expect(cancelled()).toBe(1);
    ended.resolve({
      runId: child,
      status: 'cancelled',
      reply: '',
      result: null,
    } as unknown as DispatchResult);
    await answer;
  });
});

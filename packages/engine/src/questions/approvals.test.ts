import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { createManualClock } from '@caisson/ground';
import { describe, expect, test } from 'vitest';
import { createMemoryLedger, type Ledger } from '../ledger/index.ts';
import { createApprovals } from './create-approvals.ts';
import { listApprovals } from './list-approvals.ts';

const runId = 'run_00000000000000000001';

function open() {
  const clock = createManualClock();
  const emitted: { type: string; data: Record<string, unknown> }[] = [];
  const emit = (type: string, data: Record<string, unknown>) => {
    emitted.push({ type, data });
    return Promise.resolve();
  };
  const approvals = createApprovals({ clock, deadlineMs: 60_000 });
  const ask = (emitting: typeof emit = emit) =>
    approvals.request({
      runId,
      tool: 'Bash',
      what: 'rm -rf x',
      actionClass: 'bash_destructive',
      requestId: 'request-1',
      emit: emitting,
    });
  const idOf = (index: number): string => String(emitted[index]?.data['approvalId']);
  return { clock, emitted, approvals, ask, idOf };
}

describe('an approval', () => {
  test('is recorded, decided by a person, and recorded again before the call goes on', async () => {
    const { approvals, ask, emitted, idOf } = open();
    const held = ask();
    expect(await approvals.decide(idOf(0), 'allow')).toBe(true);
    expect(emitted.map(({ type }) => type)).toEqual(['approval.requested', 'approval.decided']);
    expect(await held).toEqual({ decision: 'allow', by: 'user' });
  });

  test('is decided once; a second decision is refused', async () => {
    const { approvals, ask, emitted, idOf, clock } = open();
    const held = ask();
    const answers = await Promise.all([
      approvals.decide(idOf(0), 'deny'),
      approvals.decide(idOf(0), 'allow'),
    ]);
    clock.advance(60_000);
    await approvals.close(runId);
    expect(answers).toEqual([true, false]);
    expect(await held).toEqual({ decision: 'deny', by: 'user' });
    expect(emitted).toHaveLength(2);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('is denied when its deadline has passed', async () => {
    const { ask, clock, emitted } = open();
    const held = ask();
    await Promise.resolve();
    clock.advance(59_999);
    expect(emitted).toHaveLength(1);
    clock.advance(1);
    expect(await held).toEqual({ decision: 'deny', by: 'deadline' });
  });

  test('is denied when its run ends', async () => {
    const { approvals, ask, emitted } = open();
    const held = ask();
    await approvals.close('run_of_somebody_else');
    expect(emitted).toHaveLength(1);
    await approvals.close(runId);
    expect(await held).toEqual({ decision: 'deny', by: 'ending' });
  });

  test('that cannot be recorded is not held, and one whose decision cannot be recorded is a deny', async () => {
    const { approvals, ask, clock } = open();
    const fails = () => Promise.reject(new Error('disk full'));
    await expect(ask(fails)).rejects.toThrow('disk full');
    expect(clock.pendingTimers()).toBe(0);
    const types: string[] = [];
    let id = '';
    const failsLater = (type: string, data: Record<string, unknown>) => {
      types.push(type);
      id = String(data['approvalId']);
      return type === 'approval.decided' ? fails() : Promise.resolve();
    };
    const held = ask(failsLater);
    await expect(approvals.decide(id, 'allow')).rejects.toThrow('disk full');
    expect(await held).toEqual({ decision: 'deny', by: 'ending' });
  });

  test('is denied at once when the run already holds more than anyone reads', async () => {
    const { ask, emitted, approvals } = open();
    const held = Array.from({ length: 16 }, () => ask());
    expect(await ask()).toMatchObject({ decision: 'deny' });
    expect(emitted).toHaveLength(16);
    await approvals.close(runId);
    await Promise.all(held);
  });
});

describe('the list of approvals', () => {
  test('shows what is open, what was decided, and what died with its host', async () => {
    const ledger = createMemoryLedger();
    await startRun(ledger, runId);
    await startRun(ledger, 'run_00000000000000000002');
    await append(ledger, runId, 'approval.requested', requested('approval_a'));
    await append(ledger, runId, 'approval.requested', requested('approval_b'));
    await append(ledger, runId, 'approval.decided', {
      approvalId: 'approval_b',
      decision: 'allow',
      by: 'user',
    });
    await append(ledger, 'run_00000000000000000002', 'approval.requested', requested('approval_c'));
    await append(ledger, 'run_00000000000000000002', 'dispatch.failed', {
      durationMs: 1,
      failure: { reason: 'lost', detail: 'the host died' },
    });
    const seen = listApprovals(ledger).map(({ approvalId, status, by }) => [approvalId, status, by]);
    expect(seen).toEqual([
      ['approval_a', 'open', undefined],
      ['approval_b', 'allowed', 'user'],
      ['approval_c', 'denied', 'ending'],
    ]);
    expect(listApprovals(ledger, { openOnly: true }).map((row) => row.approvalId)).toEqual(['approval_a']);
    await ledger.close();
  });
});

const requested = (approvalId: string) => ({
  approvalId,
  tool: 'Bash',
  what: 'rm -rf x',
  actionClass: 'bash_destructive',
  deadlineAt: '2026-01-01T00:05:00.000Z',
});

async function append(
  ledger: Ledger,
  run: string,
  type: string,
  data: Record<string, unknown>,
): Promise<void> {
  const at = '2026-01-01T00:00:00.000Z';
  await ledger.append([{ runId: run, attempt: 1, type, version: 1, at, trace: 't', data }]);
}

async function startRun(ledger: Ledger, run: string): Promise<void> {
  await append(ledger, run, 'dispatch.accepted', {
    task: { id: run, description: 'd', priority: 5, scope: [] },
    runtime: 'command',
    host: 'host_1',
    grant: { ...SAMPLE_GRANT, mode: 'auto-edit', read: ['/'] },
    resolved: { capabilities: [], env: [], model: { requested: '', served: [] } },
  });
  await append(ledger, run, 'attempt.launched', { handle: {}, nonce: 'n', workspace: {} });
}

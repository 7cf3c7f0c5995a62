import { expect, test } from 'vitest';
import { accepted, fact, launched } from '../ledger/fixtures/sample-events.ts';
import { createMemoryLedger, type NewEvent } from '../ledger/index.ts';
import { findChangesOutsideScope, ScopeUnknownError } from './outside-scope.ts';

const scoped = accepted('run_a', { task: { id: 't', description: 'x', priority: 5, scope: ['src/'] } });

test.each<[string, NewEvent[]]>([
  ['acceptance', [{ ...fact('run_a', { how: 'new' }), type: 'dispatch.accepted', attempt: 0 }]],
  ['workspace', [scoped, launched('run_a', 1)]],
])('a run whose %s another version wrote does not pass for one without a scope', async (_, events) => {
  const ledger = createMemoryLedger();
  await ledger.append(events);
  const found = findChangesOutsideScope(
    {} as never,
    ledger.read({ runId: 'run_a' }),
    {},
    { forBranch: true },
  );
  await expect(found).rejects.toThrow(ScopeUnknownError);
});

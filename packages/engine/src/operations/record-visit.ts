/** Who asked over TCP for what changes something, recorded before it is done (F4). */
import type { OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import type { Visitor } from '../face/index.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';
import { resolveRunId } from './resolve-run-id.ts';

type Input = Readonly<Record<string, unknown>>;

export async function recordVisit(
  engine: Engine,
  { id, name }: Visitor,
  operation: OperationName,
  input: Input,
): Promise<void> {
  const runId = findRun(engine, input);
  const target = ['run', 'approval', 'question', 'thread', 'resident', 'sense', 'workflow', 'session']
    .map((member) => input[member])
    .find((value) => typeof value === 'string');
  const data = { by: name, token: id, operation, ...(target === undefined ? {} : { target }) };
  await engine.recorder.of(runId).append('visitor.acted', data, NO_ATTEMPT);
}

function findRun({ ledger }: Engine, { run, approval, question }: Input): string | null {
  if (typeof run === 'string') return resolveRunId(ledger, run);
  if (typeof approval === 'string') return ledger.approval(approval)?.runId ?? null;
  return typeof question === 'string' ? (ledger.question(question)?.runId ?? null) : null;
}

/** The worker's side of the golden decisions; the host's side is the test of `caisson policy check`. */
import { readFileSync } from 'node:fs';
import type { Job, Mode, WorkerSaying } from '@caisson/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { createToolGate as createNativeGate } from '../native/tool-gate.ts';
import type { NativeLine } from '../native/native-lines.ts';
import { createAttemptFixture, type AttemptFixture } from './attempt-fixture.ts';
import { createHostRequests } from './host-requests.ts';
import { createToolGate } from './tool-gate.ts';

interface GoldenCase {
  readonly tool: string;
  readonly input: unknown;
  readonly decisions: Record<Mode, 'allow' | 'ask' | 'deny'>;
  readonly actionClass: string;
  readonly rule: string;
}
interface Golden {
  readonly workspace: string;
  readonly home: string;
  readonly rules: Job['rules'];
  readonly cases: readonly GoldenCase[];
}

const text = readFileSync(new URL('../../../policy/src/golden-decisions.json', import.meta.url), 'utf8');
const golden = JSON.parse(text) as Golden;
let attempt: AttemptFixture | undefined;
afterEach(() => attempt?.remove());

const deciding = golden.cases.flatMap((line) =>
  Object.entries(line.decisions).map(([mode, decision]) => ({ ...line, mode: mode as Mode, decision })),
);

describe("the gate of every runtime's hooks decides as the golden file says", () => {
  it.each(deciding)('$mode $tool $input: $decision', async ({ mode, tool, input, decision, ...expected }) => {
    attempt = createAttemptFixture({
      mode,
      rules: golden.rules,
      answer: () => ({ ok: true, value: { decision: 'deny', by: 'user' } }),
    });
    const { context, said, folder } = attempt;
    const gate = createToolGate(context, createHostRequests(context), { denied: () => undefined });
    const verdict = await gate.judge({ tool, input: place(input, folder, context.job.sandbox.home) });
    const asked = said.find(
      (line): line is Extract<WorkerSaying, { kind: 'request' }> => line.kind === 'request',
    );
    expect(verdict.allow ? 'allow' : asked === undefined ? 'deny' : 'ask').toBe(decision);
    if (decision === 'allow') return;
    expect(context.gathered.denials).toEqual([
      expect.objectContaining({ layer: 'gate', actionClass: expected.actionClass, rule: expected.rule }),
    ]);
  });
});

describe('the gate of our own agent decides as the golden file says', () => {
  it.each(deciding)('$mode $tool $input: $decision', async ({ mode, tool, input, decision, ...expected }) => {
    const said: NativeLine[] = [];
    const { workspace, home, rules } = golden;
    const answers = { wait: () => Promise.resolve('deny' as const) };
    const gate = createNativeGate(
      { mode, workspace, home, rules },
      (line) => void said.push(line),
      answers as unknown as Parameters<typeof createNativeGate>[2],
    );
    const refusal = await gate({ id: 'call', tool, input });
    const asked = said.some((line) => line.type === 'ask');
    expect(refusal === null ? 'allow' : asked ? 'ask' : 'deny').toBe(decision);
    if (decision === 'allow') return;
    expect(said.at(-1)).toMatchObject({
      type: 'denied',
      actionClass: expected.actionClass,
      rule: expected.rule,
    });
  });
});

/** The same input, with the golden file's folders replaced by the ones of this attempt. */
function place(input: unknown, workspace: string, home: string): unknown {
  const moved = JSON.stringify(input).replaceAll(golden.workspace, workspace).replaceAll(golden.home, home);
  return JSON.parse(moved) as unknown;
}

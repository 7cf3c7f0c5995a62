/** What all attempts of a run used and took together. */
import { definedOnly, type EstimatedUsage, type DataOf, type RunTotal, type Usage } from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';

type Ended = Pick<DataOf<'attempt.ended'>, 'usage' | 'costUsd' | 'durationMs'>;

/** `last` is the attempt that ends the run, where one does. Undefined where there was no attempt before it. */
export function sumAttempts(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  runId: string,
  last?: Ended,
): RunTotal | undefined {
  if (last !== undefined && ledger.run(runId)?.attempt === 1) return undefined;
  const earlier = ledger.read({ runId, types: ['attempt.ended'] }).map(({ data }): Ended => data);
  if (earlier.length === 0) return undefined;
  const attempts = last === undefined ? earlier : [...earlier, last];
  const known = attempts.flatMap(({ usage, costUsd }) =>
    usage === undefined ? [] : [costUsd === undefined ? usage : { ...usage, costUsd }],
  );
  return {
    attempts: attempts.length,
    durationMs: attempts.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0),
    ...(known.length === 0 ? {} : { usage: known.reduce(addUsage) }),
  };
}

const COUNTS = ['turns', 'toolCalls', 'durationMs'] as const;
type TokenKey = 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens';

/** The cost of both is unknown where that of one is. */
function addUsage(left: Usage, right: Usage): Usage {
  const sum = (key: TokenKey | (typeof COUNTS)[number]): number => (left[key] ?? 0) + (right[key] ?? 0);
  const said = COUNTS.filter((key) => left[key] !== undefined || right[key] !== undefined);
  const estimated = addEstimates(left.estimated, right.estimated);
  const isCostKnown = left.costUsd !== undefined && right.costUsd !== undefined;
  return {
    models: [...new Set([...left.models, ...right.models])].slice(0, 32),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cacheReadTokens: sum('cacheReadTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    ...definedOnly({ estimated }),
    ...(isCostKnown ? { costUsd: (left.costUsd ?? 0) + (right.costUsd ?? 0) } : {}),
    ...Object.fromEntries(said.map((key) => [key, sum(key)])),
  };
}

function addEstimates(
  left: EstimatedUsage | undefined,
  right: EstimatedUsage | undefined,
): EstimatedUsage | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return {
    answers: left.answers + right.answers,
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
  };
}

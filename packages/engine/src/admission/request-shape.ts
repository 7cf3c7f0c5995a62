/**
 * The expected type of each member of a request. A request comes from programs too, and a worker would crash on a
 * number in place of a text. Written by hand: building the schema of a whole job costs a first run 2 to 4 ms, this
 * nothing.
 */
import { BudgetCaps, findNearest, Grant, Limits, NeedsInput, SessionResume, Sha256 } from '@caisson/protocol';
import type { DispatchRequest } from './contract.ts';
import type { RequestRefusal } from './request-checks.ts';

interface Shape {
  /** Completes "must be …". */
  readonly says: string;
  fits(value: unknown): boolean;
}

const LONGEST_WAIT_MS = 366 * 86_400_000;
const MAX_RETRIES = 100;

const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is unknown[] => Array.isArray(value);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !isList(value);
/** An argument, a variable or a path ends at a NUL. */
const isWord = (value: unknown): boolean => isText(value) && !value.includes('\0');

const text: Shape = { says: 'a text', fits: isText };
const word: Shape = { says: 'a text without NUL', fits: isWord };
const words: Shape = {
  says: 'a list of texts without NUL',
  fits: (value) => isList(value) && value.every(isWord),
};
const wordByName: Shape = {
  says: 'an object whose values are texts without NUL',
  fits: (value) => isRecord(value) && Object.values(value).every(isWord),
};
const wait: Shape = {
  says: `a number of milliseconds above 0, and at most ${LONGEST_WAIT_MS} (366 days)`,
  fits: (value) => typeof value === 'number' && value > 0 && value <= LONGEST_WAIT_MS,
};
const oneOf = (...choices: string[]): Shape => ({
  says: `one of ${choices.join(', ')}`,
  fits: (value) => isText(value) && choices.includes(value),
});
const fitting = (says: string, schema: { safeParse(value: unknown): { success: boolean } }): Shape => ({
  says,
  fits: (value) => schema.safeParse(value).success,
});

const isStoredFile = (value: unknown): boolean =>
  isRecord(value) && Sha256.safeParse(value['sha256']).success && typeof value['isExecutable'] === 'boolean';

const network: Shape = {
  says: '{kind: "none"}, {kind: "full"} or {kind: "hosts", hosts: ["name:port", …]}',
  fits: (value) =>
    isRecord(value) &&
    (value['kind'] === 'none' ||
      value['kind'] === 'full' ||
      (value['kind'] === 'hosts' && Grant.shape.hosts.safeParse(value['hosts']).success)),
};

const SHAPES: { readonly [Key in keyof Required<DispatchRequest>]: Shape } = {
  task: text,
  argv: words,
  runtime: word,
  agent: word,
  model: word,
  systemPrompt: text,
  mode: word,
  sandbox: oneOf('bwrap', 'none'),
  workspace: oneOf('worktree', 'in-place', 'empty'),
  base: word,
  folder: word,
  timeoutMs: wait,
  stallTimeoutMs: wait,
  budget: fitting('{usd?, tokens?, turns?, toolCalls?}, numbers that are not negative', BudgetCaps),
  limits: fitting('{memory?, cpus?, pids?, disk?, wall?}, numbers above 0', Limits),
  network,
  tools: fitting('a list of at most 256 names', Grant.shape.tools),
  verify: word,
  verifyLens: oneOf('gate', 'verify', 'clean-room'),
  capabilities: words,
  env: wordByName,
  envBundles: words,
  secrets: wordByName,
  pipeline: { says: 'a name or a pipeline', fits: (value) => isText(value) || isRecord(value) },
  inputs: wordByName,
  storedInputs: {
    says: 'an object whose values are {sha256, isExecutable}',
    fits: (value) => isRecord(value) && Object.values(value).every(isStoredFile),
  },
  scope: words,
  acceptance: text,
  branch: word,
  allowRisky: { says: 'true or false', fits: (value) => typeof value === 'boolean' },
  priority: { says: 'a whole number from 1 to 10', fits: (value) => typeof value === 'number' },
  retries: {
    says: `a whole number from 0 to ${MAX_RETRIES}`,
    fits: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_RETRIES,
  },
  session: word,
  idempotencyKey: word,
  overflow: oneOf('queue', 'reject'),
  callbacks: words,
  continues: word,
  answer: {
    says: 'a question with its answer',
    fits: (value) => isRecord(value) && isText(value['answer']) && NeedsInput.safeParse(value).success,
  },
  resume: fitting('a session that a result names', SessionResume),
  parent: { says: 'a run and its grant', fits: (value) => isRecord(value) && isRecord(value['grant']) },
  runId: word,
};

/** The first member of the wrong type, or an unknown one. */
export function findBadShape(request: DispatchRequest): RequestRefusal | null {
  for (const [key, value] of Object.entries(request)) {
    if (value === undefined) continue;
    const shape = Object.hasOwn(SHAPES, key) ? SHAPES[key as keyof DispatchRequest] : undefined;
    if (shape === undefined) return unknownMember(key);
    if (!shape.fits(value)) return { kind: 'usage', detail: `"${key}" must be ${shape.says}` };
  }
  return null;
}

function unknownMember(key: string): RequestRefusal {
  const nearest = findNearest(key, Object.keys(SHAPES));
  return {
    kind: 'usage',
    detail: `a request has no "${key.slice(0, 100)}"`,
    ...(nearest === null ? {} : { remedy: `Did you mean "${nearest}"?` }),
  };
}

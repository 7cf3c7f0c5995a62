/**
 * Hand-off v1: the checked report of a task. The agent says how it went, in words; every number, path and commit beside
 * these words is the host's own: files and lines from the patch that the seal covers, tokens, tool calls and the duration from
 * what was counted of all attempts, commits from the repository.
 */
import * as z from 'zod/mini';
import { Sha256 } from './ids.ts';

const count = () => z.int().check(z.nonnegative());
const MAX_SUMMARY = 65_536;
const MAX_REMARK = 4096;
const MAX_REMARKS = 64;
const remarks = () => z.array(z.string().check(z.maxLength(MAX_REMARK))).check(z.maxLength(MAX_REMARKS));

/** The agent's own word on its task. */
export const HANDOFF_STATUSES = ['complete', 'partial', 'blocked', 'failed'] as const;
export const HandoffStatus = z.enum(HANDOFF_STATUSES);
export type HandoffStatus = z.infer<typeof HandoffStatus>;

/**
 * What an agent says at its end: with the tool `hand_off`, or as `handoff.json` in its mailbox. Other members, such as
 * forged numbers, are ignored.
 */
export const AgentHandoff = z.object({
  status: HandoffStatus,
  summary: z.string().check(z.minLength(1), z.maxLength(MAX_SUMMARY)),
  concerns: z.optional(remarks()),
  suggestions: z.optional(remarks()),
});
export type AgentHandoff = z.infer<typeof AgentHandoff>;

const REMARKS = `a list of at most ${MAX_REMARKS} texts with at most ${MAX_REMARK} characters each`;
const EXPECTED: Readonly<Record<string, string>> = {
  status: `one of ${HANDOFF_STATUSES.map((status) => `"${status}"`).join(', ')}`,
  summary: `a text with 1 to ${MAX_SUMMARY} characters`,
  concerns: REMARKS,
  suggestions: REMARKS,
};
const MAX_SHOWN = 80;

/** Which members of a hand-off are wrong, and what is expected there, in words that a model can act on. */
export function describeHandoffProblems(value: unknown, { issues }: z.core.$ZodError): string {
  const given = typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : new Map();
  const fields = new Set(issues.map(({ path }) => String(path[0] ?? '')));
  if (fields.has('')) return 'it must be an object with "status" and "summary"';
  return [...fields]
    .map(
      (field) =>
        `"${field}" must be ${EXPECTED[field] ?? 'something else'}; ${describeGiven(given.get(field))}`,
    )
    .join('. ');
}

function describeGiven(value: unknown): string {
  if (value === undefined) return 'it is missing';
  const text = JSON.stringify(value);
  return `it is ${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)` : text}`;
}

/** Why what an agent left as its hand-off is none. */
export const HandoffProblem = z.object({
  kind: z.enum(['unparseable', 'wrong-shape']),
  detail: z.string().check(z.maxLength(2048)),
});
export type HandoffProblem = z.infer<typeof HandoffProblem>;

/** What the worker found at the end of its agent. */
export const FoundHandoff = z.union([
  z.object({ given: AgentHandoff }),
  z.object({ problem: HandoffProblem }),
]);
export type FoundHandoff = z.infer<typeof FoundHandoff>;

/** Names beyond so many are counted in `filesOmitted`. */
export const MAX_HANDOFF_FILES = 2000;

const verdictFields = () => ({
  /** The sealed patch gives the work when it is applied to the base. */
  patchApplies: z.boolean(),
  branchExists: z.boolean(),
  /** No changed file is outside the scope of the task. */
  scopeRespected: z.boolean(),
  /** The outcome of the check of the work (`verify`). */
  verify: z.enum(['passed', 'failed', 'none']),
  /** Nothing was changed. */
  isEmpty: z.boolean(),
});

const handoffFields = () => ({
  taskId: z.string(),
  /** The agent's word; `partial` where the host had to write the hand-off. */
  status: HandoffStatus,
  by: z.enum(['agent', 'host']),
  /** Why the agent's own could not be taken. */
  problem: z.optional(HandoffProblem),
  summary: z.string(),
  diffRef: z.optional(Sha256),
  filesChanged: z.array(z.string()).check(z.maxLength(MAX_HANDOFF_FILES)),
  filesOmitted: z.optional(count()),
  outOfScope: z.array(z.string()).check(z.maxLength(MAX_HANDOFF_FILES)),
  concerns: remarks(),
  suggestions: remarks(),
  branch: z.optional(z.string()),
  baseCommit: z.optional(z.string()),
  headCommit: z.optional(z.string()),
  metrics: z.object({
    linesAdded: count(),
    linesRemoved: count(),
    filesCreated: count(),
    /** Changed, renamed or deleted. */
    filesModified: count(),
    /** Of all attempts, in and out. */
    tokensUsed: count(),
    toolCallCount: count(),
    durationMs: z.number(),
  }),
});

/** As the ledger has it from before the run's ending: the push follows that. */
export const RecordedHandoff = z.object({ ...handoffFields(), verdict: z.object(verdictFields()) });
export type RecordedHandoff = z.infer<typeof RecordedHandoff>;

/** Hand-off v1, with the host's verdict. */
export const Handoff = z.object({
  ...handoffFields(),
  verdict: z.object({ ...verdictFields(), pushed: z.boolean() }),
});
export type Handoff = z.infer<typeof Handoff>;

export function isHandoff(value: unknown): value is Handoff {
  return Handoff.safeParse(value).success;
}

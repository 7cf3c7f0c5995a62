/**
 * What a caller asks for. Everything left out comes from the agent, the configuration or a default. The one description
 * of a request: its type, what admission refuses, and what is accepted from disk or from another process.
 */
import * as z from 'zod/mini';
import { SecretRef } from './config-values.ts';
import { findStray } from './find-stray.ts';
import { BudgetCaps, Grant, Limits, SandboxKind } from './grant.ts';
import { Sha256 } from './ids.ts';
import { PipelineSpec, ScriptLens } from './pipeline.ts';
import { NeedsInput, SessionResume } from './result.ts';
import { Traceparent } from './traceparent.ts';

const LONGEST_WAIT_MS = 366 * 86_400_000;
const MAX_RETRIES = 100;

/** What becomes an argument, a variable or a path ends at a NUL. */
const wordSchema = () => z.string().check(z.regex(/^[^\0]*$/));
const waitSchema = () => z.number().check(z.positive(), z.lte(LONGEST_WAIT_MS));
const listSchema = () => z.readonly(z.array(wordSchema()));
const taskIdSchema = () => z.string().check(z.regex(/^[^\0]{1,128}$/));
const namedSchema = () => z.record(z.string(), wordSchema());

/**
 * `report`: it is made all the same. `refuse-push`, the default: it is neither made nor pushed before a person says so.
 * `read-only`: the same, and what is there outside the scope cannot be changed.
 */
const OutsideScope = z.enum(['report', 'refuse-push', 'read-only']);

const LlmChoice = z.object({
  endpoint: z.optional(z.string().check(z.regex(/^https?:\/\/[^\s\0]+$/))),
  apiKey: z.optional(SecretRef),
  maxTokens: z.optional(z.int().check(z.positive())),
  temperature: z.optional(z.number().check(z.gte(0), z.lte(2))),
});

/** `says` completes "must be …". */
const field = <S extends z.ZodMiniType>(says: string, schema: S): { says: string; schema: S } => ({
  says,
  schema,
});
const TEXT = 'a text';
const WORD = 'a text without NUL';
const LIST = 'a list of texts without NUL';
const NAMED = 'an object whose values are texts without NUL';
const WAIT = `a number of milliseconds above 0, and at most ${LONGEST_WAIT_MS} (366 days)`;

/** A schema is made when its member is first looked at: most requests have few. */
export const REQUEST_FIELDS = {
  /** What should be done, in words; for `command`, a label (default: the command line). */
  task: field(TEXT, z.string()),
  /** The command line of the runtime `command`, which need not be named then. */
  argv: field(LIST, listSchema()),
  runtime: field(WORD, wordSchema()),
  agent: field(WORD, wordSchema()),
  model: field(WORD, wordSchema()),
  /**
   * The model of this run instead of the configured one. `endpoint` ends with `/v1`; `apiKey` says where the key is, and
   * the broker alone gets it.
   */
  llm: field('{endpoint?, apiKey?, maxTokens?, temperature?}, with a secret reference as the key', LlmChoice),
  /** Use the user's own log-in with the runtime, now and later; the agent can read its token. */
  login: field('true or false', z.boolean()),
  systemPrompt: field(TEXT, z.string()),
  mode: field(WORD, wordSchema()),
  sandbox: field('one of bwrap, none', SandboxKind),
  workspace: field('one of worktree, in-place, empty', z.enum(['worktree', 'in-place', 'empty'])),
  /** Ignored files and folders that the run sees beside those that are detected, relative to the project. */
  bring: field(LIST, listSchema()),
  /**
   * URL or path of a remote repository to work on; the project is then only the place of state and settings. `base` is a
   * branch, tag or commit of it.
   */
  repo: field(WORD, wordSchema()),
  base: field(WORD, wordSchema()),
  /** For `command`: where it starts, relative to the project's root. */
  folder: field(WORD, wordSchema()),
  timeoutMs: field(WAIT, waitSchema()),
  stallTimeoutMs: field(WAIT, waitSchema()),
  budget: field('{usd?, tokens?, turns?, toolCalls?}, numbers that are not negative', BudgetCaps),
  limits: field('{memory?, cpus?, pids?, disk?, wall?}, numbers above 0', Limits),
  network: field(
    '{kind: "none"}, {kind: "full"} or {kind: "hosts", hosts: ["name:port", …]}',
    z.union([
      z.object({ kind: z.literal('none') }),
      z.object({ kind: z.literal('full') }),
      z.object({ kind: z.literal('hosts'), hosts: z.readonly(Grant.shape.hosts) }),
    ]),
  ),
  tools: field('a list of at most 256 names', z.readonly(Grant.shape.tools)),
  verify: field(WORD, wordSchema()),
  /** What the check looks at and how it counts; a clean room unless the run works in place or without a sandbox. */
  verifyLens: field('one of gate, verify, clean-room', ScriptLens),
  capabilities: field(LIST, listSchema()),
  /** Their values are in memory while the run is under way, and in no file: a retry gives them again. */
  env: field(NAMED, namedSchema()),
  /** Variables that are passed on from the one who asks, and for a retry again from the one who asks for that. */
  passEnv: field(LIST, listSchema()),
  /** Of a stored request: variables that a retry gives again. */
  lackingEnv: field(LIST, listSchema()),
  envBundles: field(LIST, listSchema()),
  /** Variable name → reference, for example `{ NPM_TOKEN: 'env:NPM_TOKEN' }`. */
  secrets: field(NAMED, namedSchema()),
  pipeline: field('a name or a pipeline', z.union([z.string(), PipelineSpec])),
  /** Key → path of a file that lands at `inputs/<key>`. */
  inputs: field(NAMED, namedSchema()),
  /** Key → a file that an earlier run put into the store; `retry` and `answer` fill it in. */
  storedInputs: field(
    'an object whose values are {sha256, isExecutable}',
    z.record(z.string(), z.object({ sha256: Sha256, isExecutable: z.boolean() })),
  ),
  scope: field(LIST, listSchema()),
  /** What becomes of the branch when files outside the scope were changed. */
  outsideScope: field('one of report, refuse-push, read-only', OutsideScope),
  acceptance: field(TEXT, z.string()),
  branch: field(WORD, wordSchema()),
  /** Push the branch to `repo` after the ending of the run. */
  push: field('true or false', z.boolean()),
  /** Where the token for `repo` is, for example `env:GIT_TOKEN`; never the token itself. */
  gitToken: field('a secret reference, for example env:GIT_TOKEN', SecretRef),
  /** The caller's own id of the task; default the run's id. */
  taskId: field('a text of 1 to 128 characters without NUL', taskIdSchema()),
  /** The name of the pool of workers that it belongs to. */
  pool: field('a text of 1 to 128 characters without NUL', taskIdSchema()),
  /** Let risky files of grade `ask` (CI workflows, install scripts) onto the branch, and into files in place. */
  allowRisky: field('true or false', z.boolean()),
  priority: field('a whole number from 1 to 10', z.number()),
  retries: field(`a whole number from 0 to ${MAX_RETRIES}`, z.int().check(z.gte(0), z.lte(MAX_RETRIES))),
  session: field(WORD, wordSchema()),
  idempotencyKey: field(WORD, wordSchema()),
  overflow: field('one of queue, reject', z.enum(['queue', 'reject'])),
  callbacks: field(LIST, listSchema()),
  /** The run this one continues. */
  continues: field(WORD, wordSchema()),
  /**
   * The run whose work this one begins with, merged into the present files. Without its conversation the prompt describes
   * what happened. `continue` sets it, and a retry keeps it.
   */
  keepWork: field(WORD, wordSchema()),
  /** What was asked before, and the answer; `questionId` is the question it closes. */
  answer: field(
    'a question with its answer',
    z.extend(NeedsInput, { answer: z.string(), questionId: z.optional(z.string()) }),
  ),
  resume: field('a session that a result names', SessionResume),
  /** The grant of the run that asks for this one; the new grant is met with it. */
  parent: field('a run and its grant', z.object({ runId: z.string(), grant: Grant })),
  /**
   * No more than the project gives every run, whatever an agent or a runtime would bring: no other host, no secret, no env
   * bundle, no log-in, a sandbox, and a copy of the files. More is refused. For those who may start a run, and no more.
   */
  within: field('project', z.literal('project')),
  /** The time of a schedule that it was started for; `isCatchUp`: that time was missed. */
  schedule: field(
    'a schedule with its time',
    z.object({ name: z.string(), slot: z.string(), isCatchUp: z.optional(z.boolean()) }),
  ),
  /** The span of the caller that this run is a part of. Default: that of its parent, or `TRACEPARENT`. */
  trace: field('a W3C traceparent, 00-<32 hex digits>-<16>-<2>', Traceparent),
  runId: field(WORD, wordSchema()),
};

export type DispatchRequest = {
  readonly [K in keyof typeof REQUEST_FIELDS]?: z.infer<(typeof REQUEST_FIELDS)[K]['schema']> | undefined;
};

export type RequestProblem =
  | { readonly kind: 'no-request' }
  /** `of` is the member that it stands in, if it is not one of the request's own; `known` are the names beside it. */
  | {
      readonly kind: 'unknown';
      readonly member: string;
      readonly of?: string;
      readonly known: readonly string[];
    }
  | { readonly kind: 'wrong'; readonly member: string; readonly says: string };

/** The first member that is not what it must be, or that nobody knows; null for a request. */
export function findRequestProblem(value: unknown): RequestProblem | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'no-request' };
  for (const [member, given] of Object.entries(value)) {
    if (!isField(member)) return { kind: 'unknown', member, known: Object.keys(REQUEST_FIELDS) };
    if (given === undefined) continue;
    const { says, schema } = REQUEST_FIELDS[member];
    const parsed = schema.safeParse(given);
    if (!parsed.success) return { kind: 'wrong', member, says };
    const stray = findStray(given, parsed.data);
    if (stray !== null) return { kind: 'unknown', member: stray, of: member, known: namesIn(schema) };
  }
  return null;
}

function namesIn(schema: z.ZodMiniType): string[] {
  return schema instanceof z.ZodMiniObject ? Object.keys(schema.shape) : [];
}

function isField(member: string): member is keyof typeof REQUEST_FIELDS {
  return Object.hasOwn(REQUEST_FIELDS, member);
}

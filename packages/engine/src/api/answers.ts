/**
 * What each operation is for, and what it answers: the description of the API is made from this table. The compiler
 * refuses an entry that does not fit what its operation returns.
 */
import {
  ComputeView,
  ContextFinding,
  DispatchResult,
  EventEnvelope,
  NewToken,
  OutputFile,
  Question,
  ResidentView,
  RunPush,
  ScheduleView,
  SenseView,
  ThreadRow,
  ThreadStart,
  ThreadView,
  TokenView,
  WorkflowView,
} from '@caisson/protocol';
import * as z from 'zod/mini';
import * as own from './answer-schemas.ts';
import type { Result } from './call.ts';
import type { NamedBytes } from './contract.ts';
import * as keeping from './keeping-answers.ts';
import type { OPERATIONS, OperationName } from './operations.ts';

/** Rows and documents with a name of their own in the description. */
export const NAMED_ANSWERS = {
  Run: own.ListedRunAnswer,
  RunDetail: DispatchResult,
  Event: EventEnvelope,
  Question,
  Approval: own.ApprovalAnswer,
  Budget: own.BudgetAnswer,
  Spend: own.SpendAnswer,
  Usage: own.UsageAnswer,
  DoctorReport: own.DoctorAnswer,
  Runtime: own.RuntimeAnswer,
  ApplyOutcome: own.ApplyAnswer,
  Verification: own.VerificationAnswer,
  Branch: own.BranchAnswer,
  Push: RunPush,
  ListedName: keeping.ListedNameAnswer,
  ShownName: keeping.ShownNameAnswer,
  Registration: keeping.RegistrationAnswer,
  GarbageReport: keeping.GarbageAnswer,
  Sense: SenseView,
  Workflow: WorkflowView,
  Thread: ThreadRow,
  ThreadDetail: ThreadView,
  Resident: ResidentView,
  Schedule: ScheduleView,
  Session: own.SessionAnswer,
  BoardEntry: own.BoardEntryAnswer,
  Finding: ContextFinding,
  Output: OutputFile,
  Token: TokenView,
  NewToken,
} as const;

/** `schema` is absent where the answer is bytes or a stream. */
export interface Described<T = unknown> {
  readonly says: string;
  readonly schema?: z.ZodMiniType;
  /** For the compiler alone: what it returns must fit, and every member of that must be described. */
  readonly takes?: (value: Whole<T>) => void;
  readonly has?: [T] extends [never] ? unknown : Members<T>;
}

/** A member that is absent from a schema would fit: it may be there. So the names are compared, too. */
type Members<T> = unknown extends T
  ? never
  : T extends readonly (infer Item)[]
    ? readonly Members<Item>[]
    : T extends object
      ? { readonly [K in keyof T]-?: Members<Exclude<T[K], undefined>> }
      : true;

/** Without `readonly`, which says nothing about what is sent. */
type Whole<T> = T extends readonly (infer Item)[]
  ? readonly Whole<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Whole<T[K]> }
    : T;

export type Returned<N extends OperationName> = N extends keyof typeof OPERATIONS
  ? Sent<Result<(typeof OPERATIONS)[N]>>
  : never;
/** Bytes and streams have no schema, and what is `unknown` fits none. */
type Sent<T> = unknown extends T ? never : T extends NamedBytes | AsyncIterable<unknown> ? never : T;

const answers = <S extends z.ZodMiniType>(says: string, schema: S): Described<z.input<S>> => ({
  says,
  schema,
});
const streams = (says: string): Described<never> => ({ says });
const rows = <S extends z.ZodMiniType>(says: string, row: S): Described<z.input<S>[]> =>
  answers(says, z.array(row));
const nothing = (says: string) => answers(says, z.object({}));

const READING = {
  runs: rows('Lists runs; conditions add up.', own.ListedRunAnswer),
  find: answers(
    'The whole id of a run that is named by a part of it, or `latest`.',
    z.object({ runId: z.string() }),
  ),
  show: answers('A run as its ledger records it.', DispatchResult),
  ended: answers('Answers when the run has ended, with its result.', DispatchResult),
  events: rows('The recorded events of a run.', EventEnvelope),
  follow: streams('The events of a run as they come, until it has ended; `id` is `seq`.'),
  followAll: streams('The events of the project as they come; `id` is `offset`.'),
  log: streams('What the agent printed, redacted.'),
  followLog: streams('What the agent printed and prints, until the run has ended.'),
  patch: streams('The patch that the run left.'),
  questions: rows('Questions of agents.', Question),
  approvals: rows('Tool calls that wait for a decision; with `all` also decided ones.', own.ApprovalAnswer),
  approval: answers(
    'One such call with all that it was given. `leftOut` counts the characters that are not in it.',
    own.WholeApprovalAnswer,
  ),
  budget: rows('What is spent of the budgets of the day and of a session.', own.BudgetAnswer),
  spend: rows('What each run has cost. Unknown is null, never 0.', own.SpendAnswer),
  usage: answers('What the state folder takes on the disk.', own.UsageAnswer),
  doctor: answers('What `caisson doctor` finds, without a repair.', own.DoctorAnswer),
  exported: streams('The proof of a run in one file, as `caisson export` writes it.'),
  runtimes: rows('The agent programs of the machine.', own.RuntimeAnswer),
};

const STEERING = {
  dispatch: answers(
    'Starts a run. `isEarlier`: the idempotency key belongs to a run that was there.',
    z.object({ runId: z.string(), isEarlier: z.optional(z.boolean()) }),
  ),
  continuation: answers(
    'The request that continues a run, or repeats it: for `POST /v1/runs`.',
    z.looseObject({}),
  ),
  cancel: answers(
    'Cancels a run.',
    z.object({ outcome: z.enum(['asked', 'ended-already', 'settled', 'unanswered', 'not-driven']) }),
  ),
  send: answers('Sends the agent of a run a message.', z.object({ messageId: z.string() })),
  answer: answers(
    'Answers a question; `runId` continues with it, and is null for a thread.',
    z.object({ runId: z.nullable(z.string()) }),
  ),
  decide: answers('Allows or denies a tool call that waits.', own.ApprovalAnswer),
};

const KEEPING = {
  saveOutputs: answers('Copies the outputs of a run into a folder of the host.', z.array(z.string())),
  apply: answers(
    'Applies the patch of a run, or a part of it, to the files of the project.',
    own.ApplyAnswer,
  ),
  export: answers('Writes the proof of a run to a file of the host.', keeping.ExportedAnswer),
  verify: answers('Checks the evidence of a run.', own.VerificationAnswer),
  seal: answers('Seals runs that ended without a signature.', z.array(z.string())),
  forget: answers('Deletes the contents of a run.', z.object({ runId: z.string() })),
  drain: nothing('Takes the branch of a run that timed out off the list of its pool.'),
  branches: rows('Branches that wait for a person.', own.BranchAnswer),
  pushBranch: answers('Tries the push of a branch once more.', RunPush),
  dropBranch: answers('Deletes a branch here.', z.object({ runId: z.string() })),
  gc: answers('Frees what nobody needs.', keeping.GarbageAnswer),
  gcWithProgress: streams(
    'The same with its progress and its warnings, a line of JSON each; the last has `report` or `problem`.',
  ),
  registryList: rows('The names of a kind that can be used.', keeping.ListedNameAnswer),
  registryGet: answers('What a name, `name@3` or a hash stands for.', keeping.ShownNameAnswer),
  register: answers('Registers a file or a folder of the host under a name.', keeping.RegistrationAnswer),
  registerFolder: rows(
    'Registers everything that a folder of the host declares.',
    keeping.RegistrationAnswer,
  ),
};

const SHARED = {
  sessions: rows('The sessions that share something.', own.SessionAnswer),
  board: rows('The board of a session.', own.BoardEntryAnswer),
  writeBoard: answers('Writes a value to the board of a session.', own.BoardEntryAnswer),
  removeFromBoard: answers('Removes a key of a board.', z.object({ isRemoved: z.boolean() })),
  findings: rows('What runs of a session reported, in that order.', ContextFinding),
  reportFinding: answers('Reports a finding to the runs of a session.', ContextFinding),
  resetSession: answers(
    'Empties the board and the findings of a session.',
    z.object({ isReset: z.boolean() }),
  ),
  removeSession: nothing('Removes a session with its content.'),
  lastOffset: answers('The `offset` of the newest recorded event.', z.object({ offset: z.number() })),
  outputs: rows('The files that a run left in `outputs/`.', OutputFile),
  output: streams('A file that a run left in `outputs/`; its path begins there.'),
};

const OTHERS = {
  createToken: answers('Makes a token, which is shown once.', NewToken),
  tokens: rows('Tokens and sessions that are valid.', TokenView),
  revokeToken: answers('Ends a token.', z.object({ isRevoked: z.boolean() })),
  senses: rows('The senses.', SenseView),
  triggerSense: answers('Asks a sense for a compute now.', ComputeView),
  workflows: rows('The workflows.', WorkflowView),
  startThread: answers('Starts a thread of a workflow.', ThreadStart),
  threads: rows('Lists threads; conditions add up.', ThreadRow),
  thread: answers('A thread with its messages.', ThreadView),
  cancelThread: answers('Cancels a thread.', z.object({ isCancelled: z.boolean() })),
  resumeThread: answers('A new thread that begins with the messages of an ended one.', ThreadStart),
  residents: rows('The workers of senses and workflows.', ResidentView),
  resetResident: nothing('Ends a block of a resident.'),
  drainResident: nothing('Lets a resident finish, and replaces it.'),
  restartResident: nothing('Ends a resident now, and starts it again.'),
  residentLog: streams('What the code of a resident printed; with `follow` also what it will.'),
  schedules: rows('The schedules.', ScheduleView),
};

export const ANSWERS: { readonly [N in OperationName]: Described<Returned<N>> } = {
  ...READING,
  ...STEERING,
  ...KEEPING,
  ...SHARED,
  ...OTHERS,
};

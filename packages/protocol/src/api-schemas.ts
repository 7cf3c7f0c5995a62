/** What travels over a host's socket, and later over HTTP: the inputs of its operations, its status and its errors. */
import * as z from 'zod/mini';
import { Scope } from './access.ts';
import { RunStatus } from './dispatch-result.ts';
import { ErrorInfo } from './errors.ts';
import { EVENTS, type EventType } from './events.ts';
import { RegistryKind } from './registry-schemas.ts';
import { ThreadStatus } from './resident-views.ts';
import { BoardMode, SharedKey } from './session-files.ts';

/** In a query everything is text. */
const textNumber = () => z.coerce.number().check(z.int(), z.gte(0));
const textList = <T extends z.ZodMiniType<unknown, string>>(item: T) =>
  z.pipe(
    z.pipe(
      z.string(),
      z.transform((text): string[] => text.split(',')),
    ),
    z.array(item),
  );
const textFlag = () => z.union([z.boolean(), z.stringbool()]);

/** How the process that asks sees the machine. Kept in memory while its run is under way, and never written. */
export const Caller = z.strictObject({
  /** Its current folder: relative paths of the task begin there. */
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
});
export type Caller = z.infer<typeof Caller>;

/** A request as it comes: admission checks its members, and names what is wrong. */
const AnyRequest = z.record(z.string(), z.unknown());

const TypeName = z.enum(Object.keys(EVENTS) as [EventType, ...EventType[]]);

const named = { run: z.string() };
const shared = { session: z.string() };
/** What comes behind the last row of the page before, and at most so many rows. */
const page = () => ({ after: z.optional(z.string()), limit: z.optional(textNumber()) });

export const ApiInputs = {
  nothing: z.strictObject({}),
  page: z.strictObject(page()),
  run: z.strictObject(named),
  runs: z.strictObject({
    status: z.optional(textList(RunStatus)),
    session: z.optional(z.string()),
    agent: z.optional(z.string()),
    runtime: z.optional(z.string()),
    continues: z.optional(z.string()),
    idempotencyKey: z.optional(z.string()),
    ids: z.optional(z.readonly(textList(z.string()))),
    since: z.optional(z.string()),
    until: z.optional(z.string()),
    text: z.optional(z.string()),
    order: z.optional(z.enum(['accepted', 'ended'])),
    after: z.optional(z.string()),
    unsealed: z.optional(textFlag()),
    newestFirst: z.optional(textFlag()),
    limit: z.optional(textNumber()),
  }),
  dispatch: z.strictObject({
    request: AnyRequest,
    caller: Caller,
    /** The caller shows what a plain command prints, or feeds it; it opens both within ten seconds. */
    attach: z.optional(
      z.strictObject({ writes: z.boolean(), reads: z.boolean(), isMerged: z.optional(z.boolean()) }),
    ),
  }),
  continuation: z.strictObject({
    ...named,
    text: z.nullable(z.string()),
    changes: z.optional(AnyRequest),
    caller: Caller,
  }),
  after: z.strictObject({ ...named, after: z.optional(textNumber()), limit: z.optional(textNumber()) }),
  follow: z.strictObject({
    ...named,
    after: z.optional(textNumber()),
    types: z.optional(z.readonly(textList(TypeName))),
  }),
  followAll: z.strictObject({
    after: z.optional(textNumber()),
    onlyRecorded: z.optional(textFlag()),
    runs: z.optional(z.readonly(textList(z.string()))),
    types: z.optional(z.readonly(textList(TypeName))),
  }),
  pushBranch: z.strictObject({ ...named, caller: Caller }),
  log: z.strictObject({ ...named, name: z.enum(['stdout', 'stderr']) }),
  saveTo: z.strictObject({ ...named, to: z.string() }),
  apply: z.strictObject({
    ...named,
    only: z.optional(
      z.readonly(
        z.array(
          z.strictObject({
            path: z.string(),
            hunks: z.optional(z.readonly(z.array(z.int().check(z.gte(0))))),
          }),
        ),
      ),
    ),
    leaveConflicts: z.optional(z.boolean()),
    force: z.optional(z.boolean()),
    allowRisky: z.optional(z.boolean()),
    allowOutsideScope: z.optional(z.boolean()),
    evenIfCheckFailed: z.optional(z.boolean()),
    here: z.optional(z.boolean()),
  }),
  cancel: z.strictObject({ ...named, force: z.optional(z.boolean()), interrupt: z.optional(z.boolean()) }),
  send: z.strictObject({ ...named, body: z.string() }),
  outputs: z.strictObject({ ...named, ...page() }),
  output: z.strictObject({ ...named, path: z.string() }),
  session: z.strictObject({ ...shared, ...page() }),
  sessionName: z.strictObject(shared),
  writeBoard: z.strictObject({
    ...shared,
    namespace: z.optional(SharedKey),
    key: SharedKey,
    value: z.unknown(),
    mode: z.optional(BoardMode),
    ttlMs: z.optional(z.number().check(z.positive())),
  }),
  boardKey: z.strictObject({ ...shared, namespace: SharedKey, key: SharedKey }),
  reportFinding: z.strictObject({ ...shared, key: SharedKey, value: z.unknown() }),
  questions: z.strictObject({
    status: z.optional(z.enum(['open', 'answered', 'expired'])),
    ...page(),
  }),
  answer: z.strictObject({
    question: z.string(),
    answer: z.string(),
    caller: Caller,
    /** Variables of the run that continues: values, and names that are passed on from the caller. */
    given: z.optional(
      z.strictObject({
        env: z.optional(z.record(z.string(), z.string())),
        passEnv: z.optional(z.readonly(z.array(z.string()))),
        within: z.optional(z.literal('project')),
      }),
    ),
  }),
  approvals: z.strictObject({ all: z.optional(textFlag()), ...page() }),
  approval: z.strictObject({ approval: z.string() }),
  decide: z.strictObject({ approval: z.string(), decision: z.enum(['allow', 'deny']) }),
  spend: z.strictObject({
    session: z.optional(z.string()),
    day: z.optional(z.string()),
    newestFirst: z.optional(textFlag()),
    ...page(),
  }),
  budget: z.strictObject({ session: z.optional(z.string()) }),
  verify: z.strictObject({
    ...named,
    /** Public keys in PEM. */
    trustedKeys: z.optional(z.array(z.string())),
    /** The lines of a witness. */
    witness: z.optional(z.string()),
  }),
  seal: z.strictObject({ run: z.optional(z.string()) }),
  gc: z.strictObject({
    graceMs: z.optional(z.number()),
    trashTtlMs: z.optional(z.number()),
    remotesTtlMs: z.optional(z.number()),
    heldBackTtlMs: z.optional(z.number()),
    all: z.optional(z.boolean()),
  }),
  runtimes: z.strictObject({ caller: Caller }),
  registryList: z.strictObject({ kind: RegistryKind, ...page() }),
  registryGet: z.strictObject({ kind: RegistryKind, reference: z.string() }),
  register: z.strictObject({
    kind: RegistryKind,
    name: z.string(),
    path: z.string(),
    allowsSecrets: z.optional(z.boolean()),
  }),
  registerFolder: z.strictObject({ folder: z.string(), allowsSecrets: z.optional(z.boolean()) }),
  createToken: z.strictObject({
    name: z.string().check(z.minLength(1), z.maxLength(128)),
    scopes: z.readonly(z.array(Scope).check(z.minLength(1))),
    /** Null: until it is revoked. */
    expiresInMs: z.nullable(z.number().check(z.positive())),
  }),
  token: z.strictObject({ token: z.string() }),
  attachment: z.strictObject({ attachment: z.string() }),
  sense: z.strictObject({ sense: z.string() }),
  resident: z.strictObject({ resident: z.string() }),
  residentLog: z.strictObject({ resident: z.string(), follow: z.optional(textFlag()) }),
  startThread: z.strictObject({
    workflow: z.string(),
    payload: z.optional(z.unknown()),
    idempotencyKey: z.optional(z.string()),
  }),
  threads: z.strictObject({
    workflow: z.optional(z.string()),
    status: z.optional(textList(ThreadStatus)),
    newestFirst: z.optional(textFlag()),
    ...page(),
  }),
  thread: z.strictObject({ thread: z.string() }),
};

/** A host's answer to `hello`. */
export const HostIntroduction = z.object({
  version: z.string(),
  pid: z.int(),
  hostId: z.string(),
  /** The caller's nonce, signed with the key of the state folder. */
  proof: z.string(),
});
export type HostIntroduction = z.infer<typeof HostIntroduction>;

/** An error of the API: problem+json (RFC 9457) with our own members. */
export const Problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  ...ErrorInfo.shape,
  /** What the thrown error had beside its message: a refusal, a list of lines. */
  details: z.optional(z.record(z.string(), z.unknown())),
});
export type Problem = z.infer<typeof Problem>;

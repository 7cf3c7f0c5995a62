/** The six events of a run's life: one acceptance, one ending. */
import * as z from 'zod/mini';
import type { EventTable } from './define-event.ts';
import { Failure } from './failure.ts';
import { Grant } from './grant.ts';
import { Sha256 } from './ids.ts';
import { RunTotal, reportedExitCode, Usage } from './result.ts';
import { ListedRisk } from './risky-paths.ts';
import { Traceparent } from './traceparent.ts';

/** Work that is not in the patch, and the command that gets it. */
export const WorkBeside = z.object({ what: z.string(), get: z.string() });
export type WorkBeside = z.infer<typeof WorkBeside>;

/** Where the work was saved. `heldBack`: the file with what no ref of a repository may reach. */
export const CheckpointRef = z.object({
  ref: z.string(),
  /** What the ref names: the tree; in runs of earlier versions a commit of it. */
  commit: z.string(),
  tree: z.string(),
  heldBack: z.optional(z.object({ file: z.string(), paths: z.array(z.string()) })),
  beside: z.optional(z.array(WorkBeside)),
  /** The plan of the requested branch, for the end of the run. `isEmpty`: the run changed nothing. */
  branch: z.optional(
    z.object({
      name: z.string(),
      commit: z.string(),
      isHeld: z.boolean(),
      isEmpty: z.optional(z.boolean()),
    }),
  ),
});
export type CheckpointRef = z.infer<typeof CheckpointRef>;

/**
 * The outcome of the requested branch. `held`: it would bring risky files, and waits for a person's yes. `taken`:
 * another process or person made or moved it meanwhile. `failed`: git could not write it. `detail` says where the work
 * is. A run that changed nothing has none.
 */
export const RunBranch = z.object({
  name: z.string(),
  commit: z.string(),
  status: z.enum(['created', 'held', 'taken', 'failed']),
  detail: z.optional(z.string()),
});
export type RunBranch = z.infer<typeof RunBranch>;

/** A remote repository that a run works on. `remote` has no credentials. */
export const RemoteRepository = z.object({ remote: z.string(), push: z.boolean() });
export type RemoteRepository = z.infer<typeof RemoteRepository>;

/**
 * Why a branch is not on its remote. `taken`: the remote has other work there; `stopped`: its run was ordered to stop;
 * `unknown`: what git said is in the detail.
 */
export const PUSH_PROBLEMS = [
  'taken',
  'rejected',
  'credentials',
  'host-key',
  'not-found',
  'unreachable',
  'timeout',
  'stopped',
  'unknown',
] as const;
export const PushProblem = z.enum(PUSH_PROBLEMS);
export type PushProblem = z.infer<typeof PushProblem>;

const Resolved = z.object({
  agent: z.optional(z.object({ name: z.string(), hash: Sha256 })),
  capabilities: z.array(z.object({ name: z.string(), hash: Sha256 })),
  env: z.array(z.object({ name: z.string(), hash: Sha256 })),
  pipeline: z.optional(z.object({ id: z.string(), hash: Sha256 })),
  model: z.object({ requested: z.string(), served: z.array(z.string()) }),
});
export type Resolved = z.infer<typeof Resolved>;
export { Resolved as ResolvedNames };

export const lifecycleEvents = {
  'dispatch.accepted': {
    version: 1,
    durable: true,
    summary: 'Names are resolved to hashes and admission passed. No worker yet.',
    data: z.object({
      task: z.looseObject({
        id: z.string(),
        description: z.string(),
        priority: z.int(),
        scope: z.optional(z.readonly(z.array(z.string()))),
        acceptance: z.optional(z.string()),
        branch: z.optional(z.string()),
        outsideScope: z.optional(z.string()),
        /** The pool of workers that it belongs to. */
        pool: z.optional(z.string()),
      }),
      /** The remote repository that the run works on, and whether its branch goes there. */
      repository: z.optional(RemoteRepository),
      runtime: z.string(),
      runtimeInfo: z.optional(
        z.object({ version: z.nullable(z.string()), bin: z.string(), adapter: z.nullable(Sha256) }),
      ),
      agent: z.optional(z.string()),
      host: z.string(),
      /** Which slots it waits for: those of the project, or of its depth below a parent. */
      pool: z.optional(z.string()),
      session: z.optional(z.string()),
      idempotencyKey: z.optional(z.string()),
      continues: z.optional(z.string()),
      /** The run, or the thread of a workflow, that asked for it. */
      parent: z.optional(z.string()),
      /** The time of a schedule that it was started for; `isCatchUp`: that time was missed. */
      schedule: z.optional(
        z.object({ name: z.string(), slot: z.string(), isCatchUp: z.optional(z.boolean()) }),
      ),
      grant: Grant,
      /** How long an attempt may take, out of the request, the agent, the grant and the settings. */
      timeoutMs: z.optional(z.number()),
      resolved: Resolved,
      /** The request in a form that can be dispatched again, in the store. */
      requestRef: z.optional(Sha256),
      /**
       * What else went in, by digest: the evidence manifest is made of it. `isStored`: the bytes are in the store; runs of
       * earlier versions have the digest only.
       */
      inputs: z.optional(
        z.array(z.object({ key: z.string(), sha256: Sha256, isStored: z.optional(z.literal(true)) })),
      ),
      envNames: z.optional(z.array(z.string())),
      prompts: z.optional(z.object({ system: z.optional(Sha256), user: Sha256 })),
      pipeline: z.optional(z.object({ id: z.string(), hash: Sha256 })),
      rulesHash: z.optional(Sha256),
      credential: z.optional(z.enum(['none', 'broker', 'inside'])),
      reservedUsd: z.optional(z.number()),
      /** The caller's span, if the run is a part of one; its own is the `trace` of every event. */
      callerTrace: z.optional(Traceparent),
    }),
  },
  'dispatch.started': {
    version: 1,
    durable: true,
    summary:
      'The worker is up: its echoed grant matched, the adapter is loaded, inputs are verified. Nothing of the agent has run.',
    data: z.object({ grant: Grant }),
  },
  'dispatch.finished': {
    version: 1,
    durable: true,
    summary: 'The pipeline is done, its result is written, and no question was left.',
    data: terminal({}),
  },
  'dispatch.needs_input': {
    version: 1,
    durable: true,
    summary: 'The agent left a valid question; it is durable.',
    data: terminal({ questionId: z.string() }),
  },
  'dispatch.failed': {
    version: 1,
    durable: true,
    summary: 'Everything else, with its failure.',
    data: terminal({ failure: Failure }),
  },
  'dispatch.cancelled': {
    version: 1,
    durable: true,
    summary: 'A cancel was carried out.',
    data: terminal({ cause: z.enum(['user', 'shutdown']) }),
  },
} as const satisfies EventTable;

function terminal<T extends z.core.$ZodShape>(extra: T) {
  return z.object({
    durationMs: z.number(),
    exitCode: z.optional(reportedExitCode()),
    resultRef: z.optional(Sha256),
    patchRef: z.optional(Sha256),
    /** Why there is no patch although there may be work. */
    patchMissing: z.optional(z.string()),
    usage: z.optional(Usage),
    costUsd: z.optional(z.number()),
    /** Absent where there was one attempt. */
    total: z.optional(RunTotal),
    checkpoint: z.optional(CheckpointRef),
    branch: z.optional(RunBranch),
    risky: z.optional(z.array(ListedRisk)),
    /** Whether the check of the work (`--verify`) passed; absent where there was none. */
    checkPassed: z.optional(z.boolean()),
    ...extra,
  });
}

/** The one terminal set. */
export const TERMINAL_TYPES = [
  'dispatch.finished',
  'dispatch.needs_input',
  'dispatch.failed',
  'dispatch.cancelled',
] as const;
export type TerminalType = (typeof TERMINAL_TYPES)[number];
export const LIFECYCLE_TYPES = ['dispatch.accepted', 'dispatch.started', ...TERMINAL_TYPES] as const;
/** The events that a callback can carry. The question of a run that needs input is a separate event. */
export const CALLBACK_TYPES = [...LIFECYCLE_TYPES, 'question.asked'] as const;

export function isTerminal(type: string): type is TerminalType {
  return (TERMINAL_TYPES as readonly string[]).includes(type);
}

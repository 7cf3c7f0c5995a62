import * as z from 'zod/mini';
import { Grant } from './grant.ts';
import { RunId, Sha256, Timestamp } from './ids.ts';
import { PipelineSpec } from './pipeline.ts';
import { SessionResume } from './result.ts';
import { OwnControl } from './risky-paths.ts';
import { MODEL_APIS } from './runtimes.ts';
import { Task } from './task.ts';

const AbsolutePath = z.string().check(z.startsWith('/'), z.maxLength(4096));

/** A folder or file made visible in the sandbox. */
export const Bind = z.object({ source: AbsolutePath, target: AbsolutePath, writable: z.boolean() });
export type Bind = z.infer<typeof Bind>;

/** A small file that exists only inside the sandbox. */
export const InsideFile = z.object({
  path: AbsolutePath,
  content: z.string().check(z.maxLength(256 * 1024)),
});
export type InsideFile = z.infer<typeof InsideFile>;

/** The agent's own git dir: it may commit there; it cannot reach the user's repo. */
export const AgentGit = z.object({
  source: AbsolutePath,
  target: AbsolutePath,
  /** Names under `target` that are bound again read-only. */
  readOnly: z.array(z.string()),
  /** The user's object folders, borrowed read-only. */
  objects: z.array(z.object({ source: AbsolutePath, target: AbsolutePath })),
});
export type AgentGit = z.infer<typeof AgentGit>;

/** The user's own parts of a clean room: out of the agent's reach from the beginning. */
export const CleanRoom = z.object({
  /** A git dir like the agent's first one, untouched. Absent if the project has no git. */
  git: z.optional(AgentGit),
  /** Ignored files of the user: `patterns` in `from` are copied to the folder `to` of the clean room. */
  include: z.object({ from: AbsolutePath, to: z.string(), patterns: z.array(z.string()) }),
});
export type CleanRoom = z.infer<typeof CleanRoom>;

/** Folders that one run may bring, of the repository and of HOME together. */
export const MAX_BROUGHT = 512;

export const JobWorkspace = z.object({
  /** Where the attempt's files are on the host. */
  path: AbsolutePath,
  /** Where the agent sees them: the repo's own absolute path. */
  mountPath: AbsolutePath,
  cwd: AbsolutePath,
  /** Where the operator's own command starts, if it was typed in a sub-folder. */
  startIn: z.optional(AbsolutePath),
  kind: z.enum(['worktree', 'in-place', 'empty']),
  gitDir: AbsolutePath,
  baselineTree: z.string(),
  exclude: z.array(z.string()),
  /** Larger files are left out of the patch, and named. */
  limits: z.optional(z.object({ maxFileBytes: z.number(), maxTotalBytes: z.number() })),
  agentGit: z.optional(AgentGit),
  /** The parts of a clean room beside baseline and patch; absent if no block of the pipeline needs one. */
  cleanRoom: z.optional(CleanRoom),
  /** Risky files of this project only, relative to `path`: what its settings run, and the hooks of its repository. */
  controls: z.optional(z.array(OwnControl)),
  /** Folders of the user that are visible with a private overlay on top; in the workspace their mount points exist. */
  brought: z.optional(
    z.array(z.object({ source: AbsolutePath, target: AbsolutePath })).check(z.maxLength(MAX_BROUGHT)),
  ),
  /** A person has allowed what Caisson otherwise asks about (risky-paths.ts, grade `ask`). */
  allowRisky: z.optional(z.boolean()),
  /** What is there outside the task's scope is read-only for the agent. */
  onlyScope: z.optional(z.boolean()),
});
export type JobWorkspace = z.infer<typeof JobWorkspace>;

/** A capability's file tree, copied over the workspace in the given order. */
export const OverlayEntry = z.object({ path: AbsolutePath, sha256: Sha256, name: z.string() });
export type OverlayEntry = z.infer<typeof OverlayEntry>;

export const MAX_INPUTS = 256;
export const MAX_OVERLAYS = 64;

export const InputEntry = z.object({
  key: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)),
  path: AbsolutePath,
  sha256: Sha256,
});
export type InputEntry = z.infer<typeof InputEntry>;

/**
 * The way out of the sandbox, for the worker to open: `hosts` are exact `host:port` rules. The keys are nowhere else, and
 * never inside.
 */
export const NetworkPlan = z.object({
  socket: AbsolutePath,
  hosts: z.array(z.string()),
  model: z.nullable(
    z.object({
      /** Base URL, http or https; its path is kept. May be a loopback address. */
      endpoint: z.string(),
      api: z.enum(MODEL_APIS),
      /** Null for a model that needs no key. */
      apiKey: z.nullable(z.string()),
      /** The client is logged in by itself: its own token is passed on, and no placeholder is demanded. */
      passesToken: z.optional(z.boolean()),
    }),
  ),
  /** Other services that are reached with a key the sandbox never sees. */
  services: z.array(
    z.object({
      name: z.string(),
      endpoint: z.string(),
      apiKey: z.string(),
      /** Header that carries the key as it is; default: `authorization` with `Bearer`. */
      header: z.optional(z.string()),
    }),
  ),
  /** Listen on a port of 127.0.0.1 as well, for a run without its own network namespace. */
  onLoopback: z.boolean(),
});
export type NetworkPlan = z.infer<typeof NetworkPlan>;

/**
 * What of /etc and /var a sandbox shows, as the host listed it; `listedAtMs` is on the clock that all processes of a machine
 * share. The worker lists again what is too old.
 */
const ListedView = z.object({
  listedAtMs: z.number(),
  roots: z.array(AbsolutePath),
  folders: z.array(AbsolutePath),
  files: z.array(AbsolutePath),
  links: z.array(z.object({ path: AbsolutePath, to: z.string() })),
});

/** Job v2: the one file that a host gives to a worker for one attempt. 0600, unlinked once read. */
export const Job = z.object({
  schemaVersion: z.literal(2),
  runId: RunId,
  attempt: z.int().check(z.positive()),
  nonce: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  task: Task,
  runtime: z.object({
    name: z.string(),
    bin: z.string(),
    adapter: z.optional(z.object({ path: AbsolutePath, sha256: Sha256 })),
    settings: z.record(z.string(), z.unknown()),
    /** Whether MCP servers that the repository names are started. */
    projectServers: z.optional(z.boolean()),
  }),
  /** The registered agent that carries out the task, if one was named. */
  agent: z.optional(z.string()),
  model: z.optional(z.string()),
  prompts: z.object({
    system: z.optional(z.string()),
    user: z.string(),
    /** Instead of `user`, where the program does not find the conversation that it was to resume. */
    fresh: z.optional(z.string()),
  }),
  grant: Grant,
  /** Rules of `policy.rules`, as the policy package reads them. */
  rules: z.array(z.record(z.string(), z.unknown())),
  pipeline: PipelineSpec,
  workspace: JobWorkspace,
  inputs: z.array(InputEntry).check(z.maxLength(MAX_INPUTS)),
  overlay: z.array(OverlayEntry).check(z.maxLength(MAX_OVERLAYS)),
  /** Commands of the operator that run before the agent, in order. */
  setup: z.array(z.string()).check(z.maxLength(16)),
  /** Base environment, then bundles in order, then per run; merged by the worker through the firewall. */
  env: z.object({
    base: z.record(z.string(), z.string()),
    bundles: z.array(z.object({ name: z.string(), values: z.record(z.string(), z.string()) })),
    run: z.record(z.string(), z.string()),
  }),
  /** Resolved secrets: redacted everywhere; those with `env` are variables of that name in the sandbox. */
  secrets: z.array(z.object({ name: z.string(), value: z.string(), env: z.optional(z.string()) })),
  /** Null where there is nothing to reach. */
  network: z.nullable(NetworkPlan),
  /** Where the model's credential is: with the broker, inside the sandbox (a mounted log-in), or nowhere. */
  credential: z.optional(z.enum(['broker', 'inside', 'none'])),
  sandbox: z.object({
    hide: z.array(AbsolutePath),
    binds: z.array(Bind),
    /** What only the agent sees, not the operator's scripts: its log-in. */
    agentBinds: z.optional(z.array(Bind)),
    /** Settings of tools, without the keys of the files that they are taken from. */
    files: z.optional(z.array(InsideFile).check(z.maxLength(64))),
    /** HOME as the sandbox sees it; a private folder when there is no sandbox. */
    home: AbsolutePath,
    /** Absent where the host carries out this one run only: then the worker lists it while it waits. */
    view: z.optional(ListedView),
    homeBytes: z.number(),
    tmpBytes: z.number(),
    node: AbsolutePath,
    /** Command lines of our programs inside the sandbox; each gets further arguments. */
    programs: z.object({ relay: z.array(z.string()), toolShim: z.array(z.string()) }),
  }),
  paths: z.object({
    result: AbsolutePath,
    events: AbsolutePath,
    spool: AbsolutePath,
    captures: AbsolutePath,
    mailbox: AbsolutePath,
    session: z.nullable(AbsolutePath),
    /** What is written into brought folders. */
    layers: z.optional(AbsolutePath),
    board: z.nullable(AbsolutePath),
    context: z.nullable(AbsolutePath),
    cgroup: z.array(AbsolutePath),
  }),
  deadlineAt: Timestamp,
  wallMs: z.number().check(z.positive()),
  graceMs: z.int().check(z.nonnegative()),
  setupTimeoutMs: z.number().check(z.positive()),
  heartbeatMs: z.int().check(z.positive()),
  spoolBytes: z.number().check(z.positive()),
  onHostLoss: z.enum(['stop', 'wait']),
  /** With `wait`: where the next host reaches the worker, and how long the worker goes on without one. */
  adoption: z.optional(
    z.object({
      socket: AbsolutePath,
      withinMs: z.number().check(z.positive()),
      /** The user's folder that the run works in: the worker claims it when its host is gone. */
      folder: z.optional(z.object({ path: AbsolutePath, userState: AbsolutePath })),
    }),
  ),
  /** A person's streams around a plain command: frames on the worker's fd 4, input from its stdin. */
  attached: z.optional(
    z.object({
      output: z.boolean(),
      input: z.boolean(),
      /** Both streams go to the same place: they are one, so that their order is exact. */
      isMerged: z.boolean(),
    }),
  ),
  answer: z.optional(
    z.object({
      question: z.string(),
      options: z.optional(z.array(z.string())),
      context: z.optional(z.unknown()),
      partialState: z.optional(z.unknown()),
      answer: z.string(),
    }),
  ),
  resume: z.optional(SessionResume),
  trace: z.string(),
});
export type Job = z.infer<typeof Job>;

/** The record of a workspace that is ready: plain data, written beside it. */
import { OwnControl, PathRule } from '@caisson/protocol';
import * as z from 'zod/mini';

export const WorkspaceKind = z.enum(['worktree', 'in-place', 'empty']);
export type WorkspaceKind = z.infer<typeof WorkspaceKind>;

const ObjectId = z.string().check(z.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/));
const Path = z.string().check(z.minLength(1), z.maxLength(4096));

const Bind = z.object({ source: Path, target: Path });

/** How the sandbox shows the agent its own git. Absent when the project has no git. */
export const AgentGit = z.object({
  /** Host folder of the agent's private git dir. */
  source: Path,
  /** Where it must appear in the sandbox; an existing mount point. */
  target: Path,
  /** Names under `target` to bind again read-only. */
  readOnly: z.array(Path),
  /** The user's object folders, to be bound read-only. */
  objects: z.array(Bind),
});
export type AgentGit = z.infer<typeof AgentGit>;

/** Everything that later steps, or a later host, need. Plain data: it is written beside the workspace. */
export const PreparedWorkspace = z.object({
  schemaVersion: z.literal(1),
  kind: WorkspaceKind,
  runId: z.string(),
  attempt: z.int(),
  /** The first line of the task, for commits (commit-message.ts). */
  title: z.optional(z.string()),
  /** Host folder with the attempt's files. */
  path: Path,
  /** Where the agent sees that folder. */
  mountPath: Path,
  /** Where the agent starts, as it sees it: the project's folder inside the mount. */
  cwd: Path,
  projectRoot: Path,
  /** Our folder with the record, the git dirs and, except `in-place`, the files. */
  attemptDir: Path,
  /** Ours, for capture and checkpoint. */
  gitDir: Path,
  /** The repository that keeps checkpoints: the user's, or ours under the state folder. */
  custodyDir: Path,
  isUserRepository: z.boolean(),
  baselineTree: ObjectId,
  /** The files' first tree, if that is the work of an earlier run and not the baseline. */
  startTree: z.optional(ObjectId),
  /** Files that a person changed since an earlier run, whose result is merged in: some of them, by name. */
  changedSince: z.optional(z.array(z.string())),
  /** The commit under the baseline, if any. */
  baseCommit: z.nullable(ObjectId),
  /** A commit with the baseline's files: `baseCommit`, or null if they were not committed (an earlier version made one). */
  baselineCommit: z.nullable(ObjectId),
  /** Left out of the patch, relative to `path`. */
  exclude: z.array(Path),
  /** The size limits of one file, and of all files together, for capture and save. */
  limits: z.optional(z.object({ maxFileBytes: z.number(), maxTotalBytes: z.number() })),
  /** The rules that hide files from the agent, and the home that they may name. No stage reads what they hide. */
  hiding: z.optional(z.object({ rules: z.array(PathRule), home: Path })),
  /**
   * All rules about files, and that home. They judge every capture without the worker, in any process. Absent in records of
   * earlier versions.
   */
  judging: z.optional(z.object({ rules: z.array(PathRule), home: Path })),
  agentGit: z.optional(AgentGit),
  /** What a clean room needs beside baseline and patch, if one was requested. */
  cleanRoom: z.optional(
    z.object({
      git: z.optional(AgentGit),
      include: z.object({ from: Path, to: z.string(), patterns: z.array(z.string()) }),
    }),
  ),
  /** Ignored folders of the user that the sandbox shows with a private overlay on top. */
  brought: z.optional(z.array(z.object({ path: Path, source: Path, target: Path }))),
  /** The branch for the run's work. */
  branch: z.optional(z.string()),
  /** The remote repository that it is a copy of, and what that calls the base. */
  remote: z.optional(z.object({ url: z.string(), ref: z.string() })),
  /** The commit that the next one on the branch follows, beside its base. */
  branchFrom: z.optional(ObjectId),
  /** Risky files of this project only, relative to `path`. */
  controls: z.optional(z.array(OwnControl)),
  /** A person has allowed the changes that Caisson otherwise asks about. */
  allowRisky: z.optional(z.boolean()),
  /** Warnings for a person: a missing include, a submodule staged as files. */
  warnings: z.array(z.string()),
});
export type PreparedWorkspace = z.infer<typeof PreparedWorkspace>;

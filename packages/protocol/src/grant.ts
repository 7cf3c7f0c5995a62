import * as z from 'zod/mini';

/** Autonomy, in rising order. */
export const MODES = ['suggest', 'auto-edit', 'full-auto'] as const;
export const Mode = z.enum(MODES);
export type Mode = z.infer<typeof Mode>;

/** How the agent's processes are enclosed. `none` only when asked for by name. */
export const SandboxKind = z.enum(['bwrap', 'none']);
export type SandboxKind = z.infer<typeof SandboxKind>;

const positive = () => z.number().check(z.positive());
const count = () => z.int().check(z.nonnegative());
/** An absolute folder prefix, normalised, without a trailing slash (except `/`). */
export const FolderPrefix = z
  .string()
  .check(z.regex(/^\/$|^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/), z.maxLength(4096));
/** `host:port`, exact. `*` alone means every host (`--network full`). */
export const HostRule = z
  .string()
  .check(
    z.regex(
      /^(\*|[a-z0-9.\-_[\]:]+:(?!0*$)(\d{1,4}|[0-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))$/,
      'must be host:port in lowercase, for example registry.example:443',
    ),
    z.maxLength(300),
  );

/** A missing limit is unlimited. */
export const Limits = z.object({
  memory: z.optional(positive().check(z.describe('bytes of memory for the sandbox'))),
  cpus: z.optional(positive().check(z.describe('processor cores, fractions allowed'))),
  pids: z.optional(positive().check(z.describe('processes and threads'))),
  disk: z.optional(positive().check(z.describe('bytes the workspace may grow by'))),
  wall: z.optional(positive().check(z.describe('milliseconds of wall time'))),
});
export type Limits = z.infer<typeof Limits>;

/** A missing cap is unlimited. */
export const BudgetCaps = z.object({
  usd: z.optional(z.number().check(z.nonnegative(), z.describe('money in US dollars'))),
  tokens: z.optional(count().check(z.describe('tokens, in and out'))),
  turns: z.optional(count().check(z.describe('model turns'))),
  toolCalls: z.optional(count().check(z.describe('tool calls'))),
});
export type BudgetCaps = z.infer<typeof BudgetCaps>;

/** Everything a run may do. Grants form a lattice; see `meet` in the policy package. */
export const Grant = z.object({
  mode: Mode,
  read: z.array(FolderPrefix).check(z.maxLength(256)),
  write: z.array(FolderPrefix).check(z.maxLength(256)),
  hosts: z.array(HostRule).check(z.maxLength(256)),
  tools: z.array(z.string().check(z.maxLength(100))).check(z.maxLength(256)),
  /** Env bundles of the run, as `name@hash`, the hash cut to 12 digits. Missing: none. */
  envs: z.optional(z.array(z.string().check(z.maxLength(200))).check(z.maxLength(256))),
  limits: Limits,
  budget: BudgetCaps,
  depth: count(),
  sandbox: SandboxKind,
});
export type Grant = z.infer<typeof Grant>;

/** The one file that a host gives to a resident worker. 0600, unlinked once read. */
import * as z from 'zod/mini';
import { HostRule, Limits } from './grant.ts';
import { Bind, NetworkPlan } from './job.ts';
import { MAX_MODULES } from './resident-limits.ts';

const AbsolutePath = z.string().check(z.startsWith('/'), z.maxLength(4096));
const ms = () => z.int().check(z.positive());

/** `res_` + 20 characters: one start of one key. Its cgroup and the mark of its processes have this name. */
export const ResidentId = z.string().check(z.regex(/^res_[0-9a-z]{20}$/));
export type ResidentId = z.infer<typeof ResidentId>;

/** `senses.<group>` or `workflow.<name>`: at most one worker serves it. */
export const ResidentKey = z.string().check(z.regex(/^(?:senses|workflow)\.[a-z0-9][a-z0-9._-]{0,127}$/));
export type ResidentKey = z.infer<typeof ResidentKey>;

/** One file of the user. */
export const ResidentModule = z.object({
  name: z.string(),
  /** As seen inside. */
  file: AbsolutePath,
});
export type ResidentModule = z.infer<typeof ResidentModule>;

export const ResidentJob = z.object({
  schemaVersion: z.literal(1),
  kind: z.enum(['senses', 'workflow']),
  resident: ResidentId,
  key: ResidentKey,
  nonce: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  modules: z.array(ResidentModule).check(z.minLength(1), z.maxLength(MAX_MODULES)),
  grant: z.object({
    read: z.array(AbsolutePath),
    write: z.array(AbsolutePath),
    hosts: z.array(HostRule),
    limits: Limits,
  }),
  /** Folders that some resident of the project may write to: no code is loaded from them. */
  writable: z.array(AbsolutePath),
  /** Null where there is nothing to reach. */
  network: z.nullable(NetworkPlan),
  sandbox: z.object({
    projectRoot: AbsolutePath,
    hide: z.array(AbsolutePath),
    binds: z.array(Bind),
    home: AbsolutePath,
    homeBytes: z.number(),
    tmpBytes: z.number(),
    /** Variables inside, beside those that every sandbox has. */
    env: z.record(z.string(), z.string()),
    /** Command lines of our programs inside. */
    programs: z.object({ relay: z.array(z.string()), guest: z.array(z.string()) }),
  }),
  paths: z.object({
    /** The group's own folder on the host; inside it is `STATE_INSIDE`. */
    state: AbsolutePath,
    /** What the user's code prints and logs. */
    log: AbsolutePath,
    cgroup: z.array(AbsolutePath),
  }),
  /** From the start to `ready`. */
  readyMs: ms(),
  /** A guest that does not answer for this long is ended. */
  unresponsiveMs: ms(),
});
export type ResidentJob = z.infer<typeof ResidentJob>;

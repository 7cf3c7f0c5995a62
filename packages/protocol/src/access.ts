/** Tokens with which programs and pages reach a host over TCP. */
import * as z from 'zod/mini';
import { ListenAddress } from './api-config.ts';
import { Timestamp } from './ids.ts';

/** `run` and `decide` may read, too; `admin` may do everything. */
export const Scope = z.enum(['read', 'run', 'decide', 'admin']);
export type Scope = z.infer<typeof Scope>;

export const TokenView = z.object({
  id: z.string(),
  name: z.string(),
  /** A session was exchanged for the link of a page. */
  kind: z.enum(['token', 'session']),
  scopes: z.array(Scope),
  createdAt: Timestamp,
  expiresAt: z.nullable(Timestamp),
});
export type TokenView = z.infer<typeof TokenView>;

export const StoredToken = z.object({
  ...TokenView.shape,
  digest: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  /** Of a session: no rotation leads beyond it. */
  endsAt: z.optional(Timestamp),
  /** The id of the session that this one was rotated from. */
  replaces: z.optional(z.string()),
});
export type StoredToken = z.infer<typeof StoredToken>;

/** Shown once. */
export const NewToken = z.object({ ...TokenView.shape, token: z.string() });
export type NewToken = z.infer<typeof NewToken>;

/** Where a host listens beside its socket: by default where it did last, or on a free port of the loopback address. */
export const FaceOrder = z.strictObject({
  listen: z.optional(ListenAddress),
  port: z.optional(z.int().check(z.gte(0), z.lte(65_535))),
});
export type FaceOrder = z.infer<typeof FaceOrder>;

export const FaceStanding = z.object({
  url: z.string(),
  /** The address of a page that signs itself in, once and within five minutes. */
  link: z.string(),
});
export type FaceStanding = z.infer<typeof FaceStanding>;

/**
 * What the runs of a session share on disk: the board and the context registry. Working data, never the source of
 * truth.
 */
import * as z from 'zod/mini';
import { RunId, Timestamp } from './ids.ts';

/** A session's name, which is also the name of its folder. */
export const SessionName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/));
export type SessionName = z.infer<typeof SessionName>;

/** Namespaces and keys of board and context. */
export const SharedKey = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/));
export type SharedKey = z.infer<typeof SharedKey>;

export const BOARD_MODES = ['last-write-wins', 'append'] as const;
export const BoardMode = z.enum(BOARD_MODES);
export type BoardMode = z.infer<typeof BoardMode>;

/** The writer: a run and, if it has a name, its agent; a person has neither. */
export const SharedSource = z.object({
  runId: z.nullable(RunId),
  attempt: z.optional(z.int()),
  agent: z.optional(z.string()),
});
export type SharedSource = z.infer<typeof SharedSource>;

const tag = { by: SharedSource, at: Timestamp, expiresAt: z.optional(Timestamp) };

/** One value under a key, or one of several if the key is appended to. */
export const BoardItem = z.object({ value: z.unknown(), ...tag });
export type BoardItem = z.infer<typeof BoardItem>;

/** A key with `last-write-wins` has exactly one item. */
export const BoardCell = z.object({ mode: BoardMode, items: z.array(BoardItem) });
export type BoardCell = z.infer<typeof BoardCell>;

/** Namespace → key → cell. */
export const BoardFile = z.object({
  schemaVersion: z.literal(1),
  namespaces: z.record(z.string(), z.record(z.string(), BoardCell)),
});
export type BoardFile = z.infer<typeof BoardFile>;

/** A finding that a run reported. */
export const ContextFinding = z.object({
  seq: z.int(),
  key: z.string(),
  value: z.unknown(),
  source: SharedSource,
  at: Timestamp,
});
export type ContextFinding = z.infer<typeof ContextFinding>;

export const ContextFile = z.object({ schemaVersion: z.literal(1), findings: z.array(ContextFinding) });
export type ContextFile = z.infer<typeof ContextFile>;

/** The tools that a worker can offer to its agent; a grant names those that it does offer. */
export const COORDINATION_TOOLS = [
  'board_read',
  'board_write',
  'report_context',
  'read_context',
  'ask',
  'dispatch',
  'hand_off',
] as const;
export type CoordinationTool = (typeof COORDINATION_TOOLS)[number];

import * as z from 'zod/mini';

/** What can go wrong on the model's side, on command. */
export const FAULTS = [
  '401',
  '429',
  '529',
  '500',
  'stall',
  'cut',
  'garbage',
  'drip',
  'refusal',
  'max-tokens',
  'context-overflow',
  'empty',
] as const;
export const Fault = z.enum(FAULTS);
export type Fault = z.infer<typeof Fault>;

const path = () => z.string().check(z.minLength(1), z.maxLength(4096));

/** What the model wants done. The server uses the tool that the client really offered for it. */
export const ToolIntent = z.discriminatedUnion('intent', [
  z.strictObject({ intent: z.literal('write-file'), path: path(), content: z.string() }),
  z.strictObject({ intent: z.literal('edit-file'), path: path(), find: z.string(), replace: z.string() }),
  z.strictObject({ intent: z.literal('read-file'), path: path() }),
  z.strictObject({ intent: z.literal('run-command'), command: z.string() }),
  /** A tool of an MCP server, by its own name; clients put their own prefix before it. */
  z.strictObject({
    intent: z.literal('mcp'),
    tool: z.string(),
    arguments: z.optional(z.record(z.string(), z.unknown())),
  }),
  /** A call exactly as written, offered or not: tests how clients handle tools that they do not have. */
  z.strictObject({
    intent: z.literal('call'),
    tool: z.string(),
    arguments: z.optional(z.record(z.string(), z.unknown())),
  }),
]);
export type ToolIntent = z.infer<typeof ToolIntent>;

const count = () => z.int().check(z.nonnegative());
/** Tokens of one answer. `inputTokens` never includes what was read from or written to a cache. */
export const ScriptUsage = z.strictObject({
  inputTokens: z.optional(count()),
  outputTokens: z.optional(count()),
  cacheReadTokens: z.optional(count()),
  cacheWriteTokens: z.optional(count()),
});
export type ScriptUsage = z.infer<typeof ScriptUsage>;

/** One answer of the model. A turn with a tool is followed by the next turn once the tool's result arrives. */
export const ScriptTurn = z.strictObject({
  say: z.optional(z.string()),
  tool: z.optional(ToolIntent),
  usage: z.optional(ScriptUsage),
  /** How long the model waits before the first byte of its answer. */
  afterMs: z.optional(z.int().check(z.nonnegative(), z.maximum(600_000))),
  fault: z.optional(Fault),
  /** The fault happens this often, then the turn is answered normally. Absent: every time. */
  times: z.optional(z.int().check(z.positive())),
});
export type ScriptTurn = z.infer<typeof ScriptTurn>;

/** A conversation's script. `when` names text that the user's prompt contains. */
export const ModelScript = z.strictObject({
  when: z.optional(z.string().check(z.minLength(1))),
  turns: z.array(ScriptTurn).check(z.minLength(1)),
});
export type ModelScript = z.infer<typeof ModelScript>;

/** One script, its turns alone, or several scripts that are selected by `when`. */
export const ScriptInput = z.union([ModelScript, z.array(ModelScript), z.array(ScriptTurn)]);
export type ScriptInput = z.infer<typeof ScriptInput>;

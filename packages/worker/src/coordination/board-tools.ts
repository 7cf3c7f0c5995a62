import * as z from 'zod/mini';
import { DEFAULT_NAMESPACE, openBoard } from '@caisson/ground';
import { BOARD_MODES, BoardMode, definedOnly } from '@caisson/protocol';
import {
  objectSchema,
  sourceOf,
  withoutSecrets,
  type CoordinationTool,
  type ToolBench,
} from './coordination-tool.ts';

const ReadInput = z.object({ namespace: z.optional(z.string()), key: z.optional(z.string()) });
const WriteInput = z.object({
  namespace: z.optional(z.string()),
  key: z.string(),
  value: z.unknown(),
  mode: z.optional(BoardMode),
  ttl_seconds: z.optional(z.number().check(z.positive())),
});

const NAMESPACE = { type: 'string', description: `Namespace; "${DEFAULT_NAMESPACE}" when left out.` };

/** The board that the runs of this session share. */
export function boardTools({ context }: ToolBench, file: string): CoordinationTool[] {
  const board = openBoard(file);
  return [
    {
      name: 'board_read',
      description:
        'Read the board that all agents of this session share. Without a key: every key; without a namespace: every namespace.',
      inputSchema: objectSchema({ namespace: NAMESPACE, key: { type: 'string' } }),
      async run(input) {
        const { namespace, key } = ReadInput.parse(input ?? {});
        const entries = await board.read(definedOnly({ namespace, key }));
        return JSON.stringify({ entries }); // an object: gemini's client accepts nothing else
      },
    },
    {
      name: 'board_write',
      description:
        'Write to the board that all agents of this session share. last-write-wins replaces the value of a key; append adds to a list, and nothing that others added is lost.',
      inputSchema: objectSchema(
        {
          namespace: NAMESPACE,
          key: { type: 'string' },
          value: { description: 'Any JSON value, at most 64 KiB.' },
          mode: { type: 'string', enum: [...BOARD_MODES] },
          ttl_seconds: { type: 'number', description: 'Forget it after this many seconds.' },
        },
        ['key', 'value'],
      ),
      async run(input) {
        const { namespace, key, value, mode, ttl_seconds: ttl } = WriteInput.parse(input);
        const entry = await board.write({
          key: context.redactor.redact(key),
          value: withoutSecrets(context, value),
          by: sourceOf(context),
          ...definedOnly({
            namespace: namespace && context.redactor.redact(namespace),
            mode,
            ttlMs: ttl && ttl * 1000,
          }),
        });
        return `Written: ${entry.namespace}/${entry.key} (${entry.mode}, ${entry.items.length} item${entry.items.length === 1 ? '' : 's'}).`;
      },
    },
  ];
}

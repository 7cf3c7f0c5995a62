import * as z from 'zod/mini';
import { openContextRegistry } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import {
  objectSchema,
  sourceOf,
  withoutSecrets,
  type CoordinationTool,
  type ToolBench,
} from './coordination-tool.ts';

const ReportInput = z.object({ key: z.string(), value: z.unknown() });
const ReadInput = z.object({ key: z.optional(z.string()), after: z.optional(z.int()) });

/** Findings that the runs of this session report to each other. */
export function contextTools({ context }: ToolBench, file: string): CoordinationTool[] {
  const registry = openContextRegistry(file);
  return [
    {
      name: 'report_context',
      description:
        'Report a finding that other agents of this session, and the people who follow it, should know. It is kept with your name and the time.',
      inputSchema: objectSchema(
        { key: { type: 'string' }, value: { description: 'Any JSON value, at most 64 KiB.' } },
        ['key', 'value'],
      ),
      async run(input) {
        const { key, value } = ReportInput.parse(input);
        const finding = await registry.report({
          key: context.redactor.redact(key),
          value: withoutSecrets(context, value),
          source: sourceOf(context),
        });
        return `Reported as finding ${finding.seq}.`;
      },
    },
    {
      name: 'read_context',
      description: 'Read the findings of this session, oldest first, each with its source and time.',
      inputSchema: objectSchema({
        key: { type: 'string' },
        after: { type: 'integer', description: 'Only findings with a higher seq.' },
      }),
      async run(input) {
        const { key, after } = ReadInput.parse(input ?? {});
        const findings = await registry.read(definedOnly({ key, after }));
        return JSON.stringify({ findings }); // an object: gemini's client accepts nothing else
      },
    },
  ];
}

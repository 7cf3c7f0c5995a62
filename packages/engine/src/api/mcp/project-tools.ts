/** Tools for what runs have in common. */
import { BoardMode, definedOnly, RunStatus } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { Caisson } from '../../caisson-contract.ts';
import { InputInvalidError } from '../problems.ts';
import type { McpBench, McpTool } from './contract.ts';
import { cutEnd } from './data-text.ts';
import { withinSession } from './grant-request.ts';
import { described, parseInput, text } from './input.ts';
import { viewRow } from './run-view.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_ENTRIES = 100;
const MAX_ITEMS = 20;
const MAX_VALUE = 4000;
const MAX_SESSIONS = 100;

const session = () => described(z.optional(text(128)), 'Name of the session.');
const ListInput = z.strictObject({
  status: described(z.optional(RunStatus), 'Only runs with this status.'),
  session: session(),
  text: described(z.optional(text(1000)), 'Only runs with this in their task.'),
  after: described(z.optional(text(128)), 'The next page: the last run of the page before.'),
  limit: described(
    z.optional(z.int().check(z.positive(), z.lte(MAX_LIMIT))),
    `At most this many; default ${DEFAULT_LIMIT}.`,
  ),
});
const place = {
  session: session(),
  namespace: described(z.optional(text(256)), 'Namespace of the board; all if left out.'),
  key: described(z.optional(text(256)), 'Key; all if left out.'),
};
const BoardReadInput = z.strictObject(place);
const BoardInput = z.strictObject({
  ...place,
  value: described(z.optional(z.json()), 'Write this value to the key; without it, the board is read.'),
  mode: described(z.optional(BoardMode), 'append adds to a list; last-write-wins replaces the value.'),
  ttlSeconds: described(z.optional(z.number().check(z.positive())), 'Forget the value after this time.'),
});

export function listTool({ project, bounds }: McpBench): McpTool {
  return {
    name: 'list',
    description: 'Runs of this project, newest first.',
    input: ListInput,
    isReadOnly: true,
    run(input) {
      const { status, text: words, after, limit = DEFAULT_LIMIT, ...asked } = parseInput(ListInput, input);
      const only = withinSession(asked.session, bounds.session);
      const filter = { status, text: words, after, session: only };
      return project.read(async (caisson) => {
        const rows = await caisson.runs({ newestFirst: true, limit, ...definedOnly(filter) });
        return { runs: rows.map(viewRow), ...definedOnly({ nextAfter: nextOf(rows, limit) }) };
      });
    },
  };
}

function nextOf(rows: readonly { readonly runId: string }[], limit: number): string | undefined {
  return rows.length < limit ? undefined : rows.at(-1)?.runId;
}

export function boardTool({ project, bounds }: McpBench): McpTool {
  const isReadOnly = !bounds.scopes.includes('run');
  const schema = isReadOnly ? BoardReadInput : BoardInput;
  return {
    name: 'board',
    description: `The board that the agents of a session share: read ${isReadOnly ? 'it' : 'or write it'}. Without a session: which sessions there are.`,
    input: schema,
    isReadOnly,
    async run(input, { client }) {
      const asked: z.infer<typeof BoardInput> = parseInput(schema, input);
      const name = withinSession(asked.session, bounds.session);
      if (asked.value === undefined) return await project.read((caisson) => readBoard(caisson, name, asked));
      if (name === undefined || asked.key === undefined)
        throw new InputInvalidError('a value needs a session and a key', { remedy: 'Give both.' });
      const { namespace, key, value, mode, ttlSeconds } = asked;
      const rest = { namespace, mode, ttlMs: ttlSeconds && ttlSeconds * 1000 };
      const by = { runId: null, agent: `mcp: ${cutEnd(client, 60)}` };
      return await project.writeBoard(client, name, async ({ sessions }) => {
        const entry = await sessions.board(name).write({ key, value, by, ...definedOnly(rest) });
        return { session: name, written: `${entry.namespace}/${entry.key}`, items: entry.items.length };
      });
    },
  };
}

async function readBoard(
  { sessions }: Caisson,
  name: string | undefined,
  { namespace, key }: z.infer<typeof BoardReadInput>,
): Promise<Record<string, unknown>> {
  if (name === undefined) return { sessions: (await sessions.list()).slice(0, MAX_SESSIONS) };
  const entries = await sessions.board(name).read(definedOnly({ namespace, key }));
  return {
    session: name,
    entryCount: entries.length,
    entries: entries.slice(0, MAX_ENTRIES).map((entry) => ({
      ...{ namespace: entry.namespace, key: entry.key, itemCount: entry.items.length },
      items: entry.items.slice(-MAX_ITEMS).map(({ value, by, at }) => ({ value: cutValue(value), by, at })),
    })),
  };
}

/** A long value as the beginning of its JSON. */
function cutValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? '';
  return json.length <= MAX_VALUE ? value : cutEnd(json, MAX_VALUE);
}

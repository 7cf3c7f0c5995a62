import { DEFAULT_NAMESPACE, type BoardEntry, type Caisson } from '@caisson/engine';
import { definedOnly } from '@caisson/protocol';
import { readDuration } from '../read-duration.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { printSessions } from '../format-sessions.ts';
import type { Output } from '../output.ts';
import type { Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { warnUnread, withCaissonToRead, withCaissonToWrite } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--session NAME [get [KEY] | set KEY VALUE | remove KEY | reset]]',
  about:
    'What the agents of a session write for each other. Without a session: which ones there are. A run without\n' +
    'a session has its own, named by its id. VALUE is JSON, or else text.',
  options: {
    session: { type: 'string', value: 'NAME', summary: 'the session, or a run that has none' },
    namespace: {
      type: 'string',
      value: 'NAME',
      summary: `default "${DEFAULT_NAMESPACE}" for set and remove`,
    },
    append: { type: 'boolean', summary: 'add to the key instead of replacing it' },
    ttl: { type: 'string', value: 'DURATION', summary: 'forget the value after this time' },
  },
  positionals: { min: 0, max: 3 },
  examples: [
    { line: 'caisson board --session release', says: 'Everything on the board of a session.' },
    { line: 'caisson board --session release set port 8080 --ttl 10m', says: 'Send its agents a value.' },
  ],
  run: ({ options, positionals, output }) => {
    const { session, 'state-dir': stateDir } = options;
    const work = async (caisson: Caisson): Promise<ExitCode> => {
      if (session === undefined) await printSessions('caisson board', positionals, caisson, output);
      else await act(caisson, session, positionals, options, output);
      return EXIT_CODES.finished;
    };
    return positionals[0] === 'set'
      ? withCaissonToWrite(stateDir, output, work, { onUnread: warnUnread(output) })
      : withCaissonToRead(stateDir, output, work);
  },
});

interface Choices {
  readonly namespace: string | undefined;
  readonly append: boolean;
  readonly ttl: string | undefined;
}

async function act(
  caisson: Caisson,
  session: string,
  [verb = 'get', key, value]: readonly string[],
  choices: Choices,
  output: Output,
): Promise<void> {
  const board = caisson.sessions.board(session);
  const namespace = choices.namespace ?? DEFAULT_NAMESPACE;
  switch (verb) {
    case 'get': {
      const entries = await board.read(definedOnly({ namespace: choices.namespace, key }));
      output.result(entries, () => formatEntries(entries));
      return;
    }
    case 'set': {
      if (key === undefined || value === undefined)
        throw new UsageError('set needs a key and a value', {
          remedy: 'caisson board --session S set KEY VALUE',
        });
      const entry = await board.write({
        namespace,
        key,
        value: readValue(value),
        by: { runId: null },
        ...(choices.append ? { mode: 'append' as const } : {}),
        ...(choices.ttl === undefined ? {} : { ttlMs: readDuration('--ttl', choices.ttl) }),
      });
      output.result(entry, () => formatEntries([entry]));
      return;
    }
    case 'remove': {
      const removed = await board.remove(namespace, key ?? '');
      output.result({ removed }, () => [removed ? `removed ${namespace}/${key ?? ''}` : 'there was none']);
      return;
    }
    case 'reset': {
      const reset = await caisson.sessions.reset(session);
      output.result({ reset }, () => [reset ? `${session} is empty: board and context` : 'it was empty']);
      return;
    }
    default:
      throw new UsageError(`caisson board has no verb "${verb}"`, { remedy: 'get, set, remove or reset' });
  }
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // not JSON, so it is text
  }
}

function formatEntries(entries: readonly BoardEntry[]): Lines {
  if (entries.length === 0) return ['The board is empty.'];
  return entries.flatMap(({ namespace, key, items }) =>
    items.flatMap(({ value, by, at, expiresAt }) => {
      const who = by.runId === null ? 'a person' : `${by.agent ?? 'a run'} (${by.runId})`;
      const until = expiresAt === undefined ? '' : `, until ${expiresAt}`;
      return [`${namespace}/${key} = ${JSON.stringify(value)}`, `  ${who}, ${at}${until}`];
    }),
  );
}

/** `caisson agents|capabilities|envs|pipelines (register|list|get)`: one command for each verb, for all four kinds. */
import type { ShownName } from '@caisson/engine';
import type { RegistryKind } from '@caisson/protocol';
import { defineCommand, type Command } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatRegistration } from '../format-registration.ts';
import { formatTable } from '../format-table.ts';
import { textLines, type Lines } from '../painted.ts';
import { withCaissonToRead, withRegistry } from '../with-caisson.ts';

interface KindWords {
  readonly name: string;
  readonly source: string;
  readonly example: readonly [string, string];
}

const WORDS: Readonly<Record<RegistryKind, KindWords>> = {
  agents: { name: 'NAME', source: 'FILE', example: ['reviewer', 'reviewer.yaml'] },
  capabilities: { name: 'NAME', source: 'FOLDER', example: ['house-rules', './house-rules'] },
  envs: { name: 'NAME', source: 'FILE', example: ['ci', 'ci-env.yaml'] },
  pipelines: { name: 'PACK.NAME', source: 'FILE', example: ['team.strict', 'strict.yaml'] },
};

export const SECRETS_OPTION = {
  'allow-secrets': {
    type: 'boolean',
    summary: 'register env bundles that read your secrets; check each reference first',
  },
} as const;

export function registerCommand(kind: RegistryKind): Command {
  const { name, source, example } = WORDS[kind];
  return defineCommand({
    usage: `${name} ${source}`,
    about:
      'Registering the same content again changes nothing; other content becomes the next version of the name, and what\n' +
      'differs is shown. Refused: what does not validate, and what looks like a credential.',
    options: kind === 'envs' ? SECRETS_OPTION : {},
    positionals: { min: 2, max: 2 },
    examples: [{ line: `caisson ${kind} register ${example.join(' ')}`, says: 'Give it a name.' }],
    async run({ options, positionals, output }) {
      const [given = '', path = ''] = positionals;
      const allowsSecrets = 'allow-secrets' in options && options['allow-secrets'] === true;
      const registration = await withRegistry(options['state-dir'], output, (registry) =>
        registry.register(kind, given, path, { allowsSecrets }),
      );
      output.result(registration, () => formatRegistration(registration, output.style));
      return EXIT_CODES.finished;
    },
  });
}

export function listCommand(kind: RegistryKind): Command {
  return defineCommand({
    usage: '',
    about: 'What caisson.yaml declares comes first: it is what a name means in this project.',
    options: {},
    examples: [{ line: `caisson ${kind} list`, says: 'Every name, its newest version and its hash.' }],
    run: ({ options, output }) =>
      withCaissonToRead(options['state-dir'], output, async (caisson) => {
        const names = await caisson.registry.list(kind);
        const rows = names.map((item) => [
          item.name,
          item.version === null ? '-' : String(item.version),
          item.source,
          item.hash,
        ]);
        output.result(names, () =>
          rows.length === 0
            ? [`No ${kind} here.`]
            : formatTable(
                [['NAME', 'VERSION', 'FROM', 'SHA256'], ...rows],
                output.style.bold,
                output.wrapColumns(),
              ),
        );
        return EXIT_CODES.finished;
      }),
  });
}

export function getCommand(kind: RegistryKind): Command {
  const { example } = WORDS[kind];
  return defineCommand({
    usage: 'NAME[@VERSION]|HASH',
    ...(kind === 'envs' ? { about: 'Values are never printed, only their names.' } : {}),
    options: {},
    positionals: { min: 1, max: 1 },
    examples: [{ line: `caisson ${kind} get ${example[0]}`, says: 'What the name means.' }],
    run: ({ options, positionals, output }) =>
      withCaissonToRead(options['state-dir'], output, async (caisson) => {
        const item = await caisson.registry.get(kind, positionals[0] ?? '');
        output.result(item, () => describe(item));
        return EXIT_CODES.finished;
      }),
  });
}

function describe(item: ShownName): Lines {
  const version = item.version === null ? item.source : `version ${item.version} of ${item.at ?? ''}`;
  const versions = item.versions.map(
    (known) => `  @${known.version}  ${known.at}  sha256:${known.hash.slice(0, 16)}`,
  );
  return [
    `${item.name}  ${version}`,
    `sha256:${item.hash}`,
    ...textLines(JSON.stringify(item.definition, null, 2)),
    ...(versions.length === 0 ? [] : ['registered:', ...versions]),
  ];
}

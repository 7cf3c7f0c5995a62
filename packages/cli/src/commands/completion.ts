import { COMMON_OPTIONS, defineCommand, NAMES_KINDS, type CommandRow, type NamesKind } from '../command.ts';
import { createCompletion, SHELLS, type CompletionRow } from '../completion-script.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';

export const command = defineCommand({
  usage: `${SHELLS.join('|')} or --words KIND`,
  options: {
    words: {
      type: 'string',
      value: 'KIND',
      choices: NAMES_KINDS,
      summary: 'print the names that the scripts complete with, one a line',
    },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'source <(caisson completion bash)', says: 'In ~/.bashrc.' },
    { line: 'caisson completion zsh > "${fpath[1]}/_caisson"', says: 'For zsh.' },
    { line: 'caisson completion fish > ~/.config/fish/completions/caisson.fish', says: 'For fish.' },
  ],
  async run({ options, positionals, output, rows }) {
    if (options.words !== undefined) {
      const { listNames } = await import('../list-names.ts');
      const names = await listNames(options.words as NamesKind, options['state-dir'], output);
      output.result(names, () => names);
      return EXIT_CODES.finished;
    }
    const shell = SHELLS.find((name) => name === positionals[0]);
    if (shell === undefined)
      throw new UsageError(`There is no completion for "${positionals[0] ?? ''}".`, {
        remedy: `Choose ${SHELLS.join(', ')}.`,
      });
    const script = createCompletion(shell, await Promise.all(rows.map(describe)));
    output.result({ shell, script }, () => script.trimEnd().split('\n'));
    return EXIT_CODES.finished;
  },
});

async function describe(row: CommandRow): Promise<CompletionRow> {
  const { options, usage } = (await row.load()).command;
  return {
    name: row.name,
    summary: row.summary,
    options: { ...options, ...COMMON_OPTIONS },
    takes: findKind(row.name, usage),
  };
}

const BY_PLACEHOLDER: readonly [RegExp, NamesKind][] = [
  [/^\[?(?:\w+\|)*RUN\b/, 'runs'],
  [/^\[?THREAD\b/, 'threads'],
  [/^\[?SENSE\b/, 'senses'],
  [/^\[?WORKFLOW\b/, 'workflows'],
  [/^\[?KEY\b/, 'residents'],
];

/** `KEY` is the key of a resident only there. */
function findKind(name: string, usage: string): NamesKind | undefined {
  const kind = BY_PLACEHOLDER.find(([placeholder]) => placeholder.test(usage))?.[1];
  return kind === 'residents' && !name.startsWith('residents ') ? undefined : kind;
}

import { join } from 'node:path';
import { explainConfig, USER_CONFIG_FILE_NAME, type ConfigRow } from '@caisson/engine';
import { findNearest, formatSetting } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { line, padLine, widthOfLine, type Lines, type Style } from '../painted.ts';
import { UsageError } from '../usage-error.ts';

export const command = defineCommand({
  usage: '[KEY]',
  about:
    'A flag beats an environment variable (CAISSON_…), which beats caisson.yaml, which beats your own file, which beats\n' +
    'the default. A project may lower your limits, budget, mode and ceiling, and never raise them. What it asks for\n' +
    'beyond that is "withheld" (has no effect) until you agree (caisson trust).',
  options: {},
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson config', says: 'Every setting, its value and where it was set.' },
    { line: 'caisson config limits.timeout', says: 'One value, for scripts.' },
    {
      line: 'CAISSON_LIMITS_MEMORY=2g caisson config -o json',
      says: 'Everything as JSON, in bytes and milliseconds.',
    },
  ],
  async run({ options, positionals: [key], output }) {
    const { config, rows } = await explainConfig({ flags: { state: options['state-dir'] } });
    if (key !== undefined) return printOne(rows, key, output);
    const { projectRoot, file, userFile, stateDir, folders, trust } = config;
    output.result({ projectRoot, file, userFile, stateDir, trust, settings: rows }, () => [
      `project  ${projectRoot}`,
      `file     ${file ?? 'none (caisson init writes one)'}`,
      `yours    ${userFile ?? `none (${join(folders.config, USER_CONFIG_FILE_NAME)})`}`,
      `state    ${stateDir}`,
      `trust    ${TRUST[trust.kind]}`,
      '',
      ...formatRows(rows, output.style),
    ]);
    return EXIT_CODES.finished;
  },
});

const TRUST = {
  'nothing-asked': 'the project asks for nothing',
  granted: 'you have agreed to what the project asks for',
  required: 'what the project asks for has no effect; caisson trust shows it',
} as const;

function printOne(rows: readonly ConfigRow[], key: string, output: Output): 0 {
  const row = rows.find((candidate) => candidate.key === key);
  if (row === undefined) {
    const nearest = findNearest(
      key,
      rows.map((candidate) => candidate.key),
    );
    throw new UsageError(`There is no setting "${key}".`, {
      remedy: nearest === null ? 'caisson config lists them all.' : `Did you mean "${nearest}"?`,
    });
  }
  output.result(row, () => [formatValue(row)]);
  return EXIT_CODES.finished;
}

function formatRows(rows: readonly ConfigRow[], style: Style): Lines {
  const keyWidth = Math.max(...rows.map(({ key }) => widthOfLine(key)));
  const valueWidth = Math.min(32, Math.max(...rows.map((row) => widthOfLine(formatValue(row)))));
  return rows.map((row) => {
    const from =
      row.source === 'default'
        ? style.dim('default')
        : [row.from?.split('/').at(-1), row.line].filter(Boolean).join(':');
    const note = row.isWithheld === true ? style.yellow(' withheld') : '';
    return line`${padLine(row.key, keyWidth)}  ${padLine(formatValue(row), valueWidth)}  ${from}${note}`;
  });
}

function formatValue({ key, value }: ConfigRow): string {
  return formatSetting(key, value);
}

/** Writes the newest table to the docs, with everything that is needed to get it again. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../e2e/open-project.ts';
import { KINDS } from './kinds.ts';
import type { Report } from './run-all.ts';
import { countStruck, createTable, formatMarkdown } from './table.ts';

const PAGE = 'docs/fault-matrix.md';

export function publish(reports: readonly Report[]): string {
  const broken = reports.filter(({ violations }) => violations.length > 0);
  const kinds = KINDS.filter((kind) => reports.some((report) => report.kind === kind.name));
  const text = [
    '<!-- Written by npm run test:faults -- --publish. Changes made here are lost. -->',
    '# Faults, tried',
    `On ${new Date().toISOString().slice(0, 10)}, with version ${readVersion()}: ${countStruck(reports)} faults struck in ${reports.length} cases. ${countGrave(broken)} cases hid work, lost a durable event or left a run unsealed; ${broken.length - countGrave(broken)} left something behind that should be gone.`,
    'Struck: faults that met what they were meant for; a case of kind pair or recovery has two. The outcomes are those of the run that was hurt; all but a violation are in order. [The guide](guides/nightly.md) says what is checked after every case.',
    formatMarkdown(createTable(kinds, reports)),
    'To get it again:',
    ['```sh', ...describeBatches(reports), '```'].join('\n'),
    ...(broken.length === 0 ? [] : ['## Violations', broken.map(describe).join('\n')]),
  ].join('\n\n');
  writeFileSync(join(ROOT, PAGE), `${text}\n`);
  execFileSync(join(ROOT, 'node_modules/.bin/oxfmt'), [PAGE], { cwd: ROOT });
  return PAGE;
}

/** What is left behind costs some space; everything else costs work, or trust in the record. */
const LEFT_BEHIND = /^no-(process|mount|group|lease|folder|temporary|lock): /;

function countGrave(broken: readonly Report[]): number {
  return broken.filter(({ violations }) => violations.some((each) => !LEFT_BEHIND.test(each))).length;
}

/** One line for each seed. */
function describeBatches(reports: readonly Report[]): string[] {
  return [...new Set(reports.map(({ seed }) => seed))].map((seed) => {
    const own = reports.filter((report) => report.seed === seed);
    const count = Math.max(...own.map(({ index }) => index)) + 1;
    const kinds = [...new Set(own.map(({ kind }) => kind))].toSorted().join();
    return `npm run test:faults -- --seed ${seed} --count ${count} --kind ${kinds}`;
  });
}

function describe({ name, violations, repeat }: Report): string {
  return `- ${name}: ${(violations[0] ?? '').split('\n', 1)[0]?.replaceAll(/\/\S*\/caisson-fault-\w+\//g, '')}. Again: \`${repeat}\``;
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}

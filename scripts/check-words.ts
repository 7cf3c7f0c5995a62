// Part of `npm run check`: words that cost a reader a second look do not come back. See "Plain English" in docs/style.md.
import { spawnSync } from 'node:child_process';

const WORDS = [
  ...[
    '[Ww]hoever',
    '[Ss]omebody',
    '[Aa]nybody',
    '[Ee]verybody',
    '(is|are|was|be) told',
    '[Mm]ended',
    '[Ll]ends',
    '[Ll]aws?',
    '[Tt]ells',
    '[Hh]ears',
    '[Hh]eard',
    '[Dd]esks?',
    '(const|function|async) tell',
  ],
  ...[
    'tell[A-Z]\\w*',
    'hear[A-Z]\\w*',
    '\\w*Teller',
    '\\w*Desk',
    'voice\\.ts',
    'layBase',
    'findTooMuch',
    'PoolRoom',
  ],
];
const PLACES = [
  'packages',
  'docs',
  'scripts',
  'tests',
  ':!packages/policy/corpus',
  ':!docs/fault-matrix.md',
  ':!docs/agents-matrix.md',
  ':!scripts/check-words.ts',
  ':!tests/checks/words.test.ts',
];

const { status, stdout } = spawnSync('git', ['grep', '-nIwE', `(${WORDS.join('|')})`, '--', ...PLACES], {
  encoding: 'utf8',
});
if (status === 1) process.stdout.write('no old words\n');
else process.stdout.write(`${stdout}Say it in plain English: docs/style.md, docs/glossary.md.\n`);
process.exitCode = status === 1 ? 0 : 1;

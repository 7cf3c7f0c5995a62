/** An agent writes the calls that are judged, in a process that has other things to do: none may take long. */
import { expect, test } from 'vitest';
import { evaluate } from './evaluate.ts';
import type { PolicyRule } from '@caisson/protocol';

const CHARS = 99_000;
const LINE_CHARS = 8_000_000;
/** About ten times what the slowest of them takes. */
const MAX_CPU_MS = 3000;

const rules: PolicyRule[] = [
  { path: '**/secret*/**/*.key', action: 'no-access', reason: 'secret' },
  { command: 'git *push*--force*', action: 'deny', reason: 'no force' },
];

const filled = (text: string, chars = CHARS): string => text.repeat(Math.floor(chars / text.length));
const numbered = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(';');

const COMMANDS: Readonly<Record<string, string>> = {
  'a long folder and many deletes': `cd ${filled('a/', 90_000)};${filled('rm b;', 9000)}`,
  'redirections without end': `a ${filled('>b ')}`,
  'a text through a long pipe': `echo ${filled('a', 50_000)}|${filled('rev|', 40_000)}sh`,
  'a long value, edited often': `a=${filled('x', 40_000)};${filled('b=${a//x/y};', 50_000)}`,
  'many variables and subshells': `${numbered(2000, (index) => `v${index}=x`)};${filled('(a);', 60_000)}`,
  'stars and slashes': `rm ${filled('/*')}x`,
  'parts of a rule': `git ${filled('push', 90_000)}`,
  'functions that call the next': `${numbered(5000, (index) => `f${index}(){ f${index + 1}; }`)};f0`,
  'functions that call twice': 'f(){ f; f; };f',
  'a value that doubles': `a=x;${filled('a=$a$a;', 700)}${filled('echo $a >>f;')}`,
  'files that are copied on': `echo ${filled('x', 20_000)} >f0;${numbered(4000, (index) => `cp f${index} f${index + 1}`)}`,
  'nested loops': `${filled('for i in a b c d;do ', 1400)}x${filled(';done', 350)}`,
  'what is never closed': filled('aaaa('),
  'many quotes': filled('"a$b"'),
};

test.each(Object.entries(COMMANDS))('a command is judged in a bounded time: %s', (_name, command) => {
  expect(cpuOf(() => evaluate(request('Bash', { command })))).toBeLessThan(MAX_CPU_MS);
});

const INPUTS: Readonly<Record<string, unknown>> = {
  'one long path': { file_path: `${filled('/*', LINE_CHARS)}x` },
  'a long name': { file_path: filled('a.', LINE_CHARS) },
  'many paths': { paths: Array.from({ length: 400_000 }, (_, index) => `secret/${index}.key`) },
};

test.each(Object.entries(INPUTS))(
  'so is the call of a file tool, and a person is asked: %s',
  (_name, input) => {
    let decision = '';
    expect(cpuOf(() => void ({ decision } = evaluate(request('Write', input))))).toBeLessThan(MAX_CPU_MS);
    expect(decision).toBe('ask');
  },
);

test('a patch of many files is asked about, and one of a few is not', () => {
  const patch = (count: number): string =>
    `*** Begin Patch\n${Array.from({ length: count }, (_, index) => `*** Add File: f${index}\n+x`).join('\n')}`;
  const decide = (count: number): string =>
    evaluate(request('apply_patch', { input: patch(count) })).decision;
  expect([decide(2000), decide(2001)]).toEqual(['allow', 'ask']);
});

function request(tool: string, input: unknown): Parameters<typeof evaluate>[0] {
  return { mode: 'full-auto', rules, tool, input, workspace: '/w', home: '/h' };
}

function cpuOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

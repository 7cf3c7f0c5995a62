import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isFlagged, parseCorpus } from './corpus-report.ts';

/** What a shell would read as this one word. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const isPlain = (command: string): boolean => /^[a-z][\w./-]*( [\w./:=@-]+)*$/.test(command);

const CORPUS = new URL('../corpus/heldout3-destructive.txt', import.meta.url);
const commands = parseCorpus(readFileSync(CORPUS, 'utf8')).filter(
  (command) => !command.includes('\n') && isFlagged(command),
);

/** Ways to have the same command run by something else, for any command. */
const AROUND: Record<string, (command: string) => string> = {
  'sh -c': (command) => `/bin/sh -ec ${quote(command)}`,
  'two shells': (command) => `sh -c ${quote(`bash -c ${quote(command)}`)}`,
  eval: (command) => `eval ${quote(command)}`,
  'a pipe': (command) => `printf %s ${quote(command)} | bash -s`,
  'a here-document': (command) => `bash <<'END'\n${command}\nEND`,
  'a here-string': (command) => `bash <<< ${quote(command)}`,
  'base64 into a shell': (command) => `echo ${Buffer.from(command).toString('base64')} | base64 -d | sh`,
  'a branch': (command) => `if true; then ${command}\nfi`,
  'a loop': (command) => `for i in 1; do ${command}\ndone`,
  'a function': (command) => `f() { ${command}\n}; f`,
  'a substitution': (command) => `echo "$(${command}\n)"`,
  'a variable': (command) => `X=${quote(command)}; eval "$X"`,
  'a variable of the environment': (command) => `X=${quote(command)} bash -c 'eval "$X"'`,
  'an alias': (command) => `alias zz=${quote(command)}\nzz`,
  'a trap': (command) => `trap ${quote(command)} EXIT`,
  'a script of the same line': (command) => `cat > /tmp/z.sh <<'END'\n${command}\nEND\nbash /tmp/z.sh`,
  watch: (command) => `watch -n 2 ${quote(command)}`,
  'su -c': (command) => `su - bob -c ${quote(command)}`,
  flock: (command) => `flock -n /tmp/lock -c ${quote(command)}`,
  'busybox sh': (command) => `busybox sh -c ${quote(command)}`,
  'npx -c': (command) => `npx -c ${quote(command)}`,
};
/** Ways that take the words as they are. */
const BEFORE =
  'sudo|env A=1 B=2|timeout -s KILL 5|nohup|nice -n 5|setsid -w|stdbuf -o L|command|exec|time -p|ionice -c2 -n7'.split(
    '|',
  );

describe('a command that is caught', () => {
  it.each(Object.entries(AROUND))('is caught inside %s', (_, around) => {
    expect(commands.filter((command) => !isFlagged(around(command)))).toEqual([]);
  });

  it.each(BEFORE)('is caught after %s', (wrapper) => {
    const plain = commands.filter(isPlain);
    expect(plain.length).toBeGreaterThan(100);
    expect(plain.filter((command) => !isFlagged(`${wrapper} ${command}`))).toEqual([]);
  });

  it('is nearly always caught after an unlisted wrapper', () => {
    const plain = commands.filter(isPlain);
    const caught = plain.filter((command) => isFlagged(`some-new-wrapper --level 3 -- ${command}`));
    expect(caught.length / plain.length).toBeGreaterThanOrEqual(0.98);
  });
});

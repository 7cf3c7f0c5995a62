import { describe, expect, it } from 'vitest';
import { classifyCommand } from './classify-command.ts';

const ruleOf = (command: string): string => classifyCommand(command).rule;

describe('what a line knows of itself', () => {
  it.each([
    ['a list', 'c=("git push" ls); for x in "${c[@]}"; do eval "$x"; done'],
    ['a list that grows', 'a=(git); a+=(push); "${a[@]}"'],
    ['elements set one by one', 'a[0]=git; a[1]=push; "${a[@]}"'],
    ['lines read into a list', `mapfile -t c <<< 'git push'; eval "\${c[0]}"`],
    ['words read into a list', `read -ra c <<< 'git push'; "\${c[@]}"`],
    ['a name for a name', 'v=push; declare -n r=v; git $r'],
    ['arguments that are kept whole', `f() { eval "$1"; }; f 'git push'`],
    ['a value that is missing', 'git ${x}push'],
  ])('follows %s', (_, command) => {
    expect(ruleOf(command)).toBe('git-push');
  });

  it('runs what a setting would make a program load', () => {
    expect(ruleOf(`BASH_ENV=<(echo 'rm -rf src') bash -c true`)).toBe('delete-recursive');
    expect(ruleOf(`PS4='$(rm -rf src)' bash -x a.sh`)).toBe('delete-recursive');
    expect(ruleOf(`NODE_OPTIONS='-r /tmp/x.js' npm test`)).toBe('injected-code');
    expect(ruleOf(`NODE_OPTIONS='-r ./x.js' npm test`)).toBe('service');
  });

  it('feeds a process that a command writes into', () => {
    expect(ruleOf(`echo 'rm -rf src' | tee >(sh)`)).toBe('pipe-to-shell');
    expect(ruleOf('make | tee >(grep -c warn)')).toBe('file-write');
  });

  it('sees a file that is emptied before it is read', () => {
    expect(ruleOf('tr a b < x.md > x.md')).toBe('self-truncation');
    expect(ruleOf('sort x.md | uniq > x.md')).toBe('self-truncation');
    expect(ruleOf('sort x.md | uniq > y.md')).toBe('file-write');
    expect(ruleOf('exec 3> data.csv')).toBe('truncate');
    expect(ruleOf('exec 9> /tmp/lock')).toBe('file-write');
  });

  it('does not take the text of a function for a run of it', () => {
    expect(ruleOf(`f() { eval "$1"; }; f 'npm test'`)).toBe('service');
  });

  it.each(['q{', '<(', '$((', '>('])('is not read at all when it opens %s without end', (opening) => {
    expect(ruleOf(`foo ${opening.repeat(20_000)}`)).toBe('too-much-work');
  });
});

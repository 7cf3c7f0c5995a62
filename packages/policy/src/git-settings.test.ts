import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { classifyCommand } from './classify-command.ts';

const setting = (key: string, value: string): string =>
  `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=${key} GIT_CONFIG_VALUE_0='${value}'`;
const exported = (key: string, value: string): string =>
  setting(key, value).replace(/ (?=GIT_CONFIG_)/g, '; export ');

describe('settings that git takes from the environment', () => {
  it.each([
    [`${setting('alias.x', '!rm -rf ~')} git x`, 'bash_destructive'],
    [`${setting('alias.x', '!rm -rf')} git x ~`, 'bash_destructive'],
    [`${setting('ALIAS.X', '!rm -rf ~')} git X`, 'bash_destructive'],
    [`${setting('alias.x', 'push --force')} git x`, 'git_destructive'],
    [`${setting('alias.x', 'push')} git x origin main`, 'git_push'],
    [`${setting('alias.x.command', '!rm -rf ~')} git x`, 'bash_destructive'],
    [`export ${exported('alias.x', '!rm -rf ~')}; git x`, 'bash_destructive'],
    [`env ${setting('alias.x', '!rm -rf ~')} git x`, 'bash_destructive'],
    [`env ${setting('alias.x', 'push --force')} git x`, 'git_destructive'],
    [`${setting('alias.x', '!rm -rf ~')} sh -c 'git x'`, 'bash_destructive'],
    [`${setting('core.fsmonitor', 'rm -rf ~')} git status`, 'bash_destructive'],
    [`${setting('core.sshCommand', 'rm -rf ~; true')} make release`, 'bash_destructive'],
    [`${setting('alias.x', '!rm -rf ~')} make release`, 'bash_destructive'],
    [`${setting('core.hooksPath', '/tmp/h')} git commit -m x`, 'system_modify'],
    [`${setting('clean.requireForce', 'false')} git clean`, 'git_destructive'],
    [`GIT_CONFIG_PARAMETERS="'alias.x=!rm -rf ~'" git x`, 'bash_destructive'],
    [`GIT_CONFIG_PARAMETERS="'alias.a'='status' 'alias.x'='!rm -rf ~'" git x`, 'bash_destructive'],
    [`E='!rm -rf ~' git --config-env=alias.x=E x`, 'bash_destructive'],
    [`E='push --force' git --config-env alias.x=E x`, 'git_destructive'],
    // git ignores an alias that has the name of a verb of its own.
    [`${setting('alias.push', 'status')} git push --force`, 'git_destructive'],
    [`git -c alias.push=status push --force`, 'git_destructive'],
  ])('%s is %s', (command, actionClass) => {
    expect(classifyCommand(command).actionClass).toBe(actionClass);
  });

  it.each([
    [`${setting('alias.st', 'status -sb')} git st`, 'file_read'],
    [`${setting('alias.log', 'log --oneline')} git log`, 'file_read'],
    [`${setting('user.name', 'Ann')} git status`, 'file_read'],
    [`${setting('core.pager', 'cat')} git log`, 'file_read'],
    [`${setting('safe.directory', '*')} git status`, 'file_read'],
    [`GIT_CONFIG_PARAMETERS="'core.quotepath=off'" git status`, 'file_read'],
    [`E=Ann git --config-env=user.name=E status`, 'file_read'],
  ])('%s stays %s', (command, actionClass) => {
    expect(classifyCommand(command).actionClass).toBe(actionClass);
  });

  it('reads what git itself hands on as GIT_CONFIG_PARAMETERS', () => {
    const folder = mkdtempSync(join(tmpdir(), 'git-settings-'));
    const value = `!echo 'it'\\''s' "$GIT_CONFIG_PARAMETERS"`;
    const handed = execFileSync('git', ['-c', 'alias.quiet=status', '-c', `alias.x=${value}`, 'x'], {
      cwd: folder,
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    const parameters = handed.slice("it's ".length).trim();
    const quoted = `'${parameters.replace('echo', 'rm -rf ~; echo').replaceAll("'", `'\\''`)}'`;
    expect(classifyCommand(`GIT_CONFIG_PARAMETERS=${quoted} git x`).actionClass).toBe('bash_destructive');
    expect(classifyCommand(`GIT_CONFIG_PARAMETERS=${quoted} git quiet`).actionClass).toBe('bash_destructive');
  });
});

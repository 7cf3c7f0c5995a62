import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';

/** Settings whose value git runs, or that send its data elsewhere. */
const RUNS =
  /^(core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|excludesfile|worktree)|sequence\.editor|alias\..+|credential(\..*)?\.helper|filter\..+|diff\.(external|.+\.(textconv|command))|merge\..+\.driver|difftool\..+|mergetool\..+|gpg\.(.+\.)?program|url\..+|include(if\..+)?\.path|uploadpack\..+|receive\..+|pager\..+|protocol\..+|http\.(proxy|sslverify))$/;
const HARMLESS =
  /^(nano|vim?|nvim|emacs|code( --wait| -w)?|true|cat|less.*|delta.*|store|cache.*|osxkeychain|manager.*|!gh auth git-credential|subl.*)?$/;

/** Folders in which a project keeps its own hooks. */
const OWN_HOOKS = /^(\.\/)?\.?(husky|githooks|git-hooks|hooks)(\/_)?$/;

/** `git config …`: reading, an everyday setting, or a setting that makes git run something. */
export function judgeGitConfig(args: readonly string[], call: Call): Hit {
  if (
    hasFlag(args, 'l', '--list', '--get', '--get-all', '--get-regexp', '--show-origin') ||
    ['get', 'list'].includes(args[0] ?? '')
  ) {
    return hit('file_read', 'git-read');
  }
  const words = parseOptions(args, ['-f', '--file', '--type', '--default', '--blob']).operands;
  const [key = '', value] = words[0] === 'set' || words[0] === 'unset' ? words.slice(1) : words;
  if (value === undefined && !hasFlag(args, '', '--unset', '--unset-all', '--edit', '--remove-section'))
    return hit('file_read', 'git-read');
  const lower = key.toLowerCase();
  if (
    hasFlag(args, '', '--remove-section') ||
    (/^(remote|branch)\./.test(lower) && hasFlag(args, '', '--unset', '--unset-all'))
  )
    return hit('git_destructive', 'git-remote-remove');
  const isHarmlessAlias = lower.startsWith('alias.') && value !== undefined && !value.startsWith('!');
  if (!RUNS.test(lower) || value === undefined || HARMLESS.test(value)) return hit('bash_exec', 'git');
  if (lower === 'core.hookspath' && OWN_HOOKS.test(value)) return hit('bash_exec', 'git');
  if (isHarmlessAlias) {
    call.inspector.runScript(`git ${value}`, forkScope(call.scope), call.cause);
    return hit('bash_exec', 'git');
  }
  runConfigValue(call, lower, value);
  return hit('system_modify', 'control-file');
}

/** The alias that a setting defines, or null. */
export function aliasNamed(key: string): string | null {
  return /^alias\.(.+?)(?:\.command)?$/.exec(key)?.[1] ?? null;
}

/** The shell text that git, with any of its commands, would run because of a setting; null for none. */
export function textOfSetting(key: string, value: string): string | null {
  if (!RUNS.test(key) || key.startsWith('url.') || key === 'core.hookspath' || HARMLESS.test(value))
    return null;
  if (value.startsWith('!')) return value.slice(1);
  return aliasNamed(key) === null ? value : `git ${value}`;
}

/** `-c key=value` where git would run the value: judged as the shell text it is. */
export function runConfigValue(call: Call, key: string, value: string): void {
  if (!RUNS.test(key) || key.startsWith('url.') || HARMLESS.test(value)) return;
  if (key === 'core.hookspath') {
    // An empty value switches hooks off; any other value brings new ones in.
    if (value !== '/dev/null' && !OWN_HOOKS.test(value))
      call.inspector.report(hit('system_modify', 'control-file'), call.cause);
    return;
  }
  call.inspector.runScript(value.replace(/^!/, ''), forkScope(call.scope), call.cause);
}

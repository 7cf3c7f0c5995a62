/** What git gets from elsewhere, where it writes, and what it runs on the way. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { UNKNOWN } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';
import { runConfigValue } from './git-config.ts';

/** `--upload-pack=CMD` names the program to run on the other side, which may be this one. */
export function judgeTransport(verb: string, args: readonly string[], call: Call): Hit {
  const { values, operands } = parseOptions(args, [
    '-u',
    '--upload-pack',
    '-c',
    '--config',
    '--template',
    '-b',
    '-o',
  ]);
  if (/^(clone|init)$/.test(verb)) {
    if ((values.get('--template')?.[0] ?? '') !== '') return hit('system_modify', 'control-file');
    for (const setting of [...(values.get('-c') ?? []), ...(values.get('--config') ?? [])])
      runConfigValue(call, ...splitConfig(setting));
  } else if (overwritesBranches(args, operands)) return hit('git_destructive', 'git-update-ref');
  for (const text of [...(values.get('--upload-pack') ?? []), ...(values.get('-u') ?? [])]) {
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  }
  for (const url of args.filter((arg) => arg.startsWith('ext::'))) {
    // git's own quoting: `% ` is a blank inside a word.
    const words = url.slice(5).match(/(?:%.|[^% ])+/g) ?? [];
    const argv = words.map((word) => word.replace(/%(.)/g, '$1'));
    call.inspector.runArgv(argv, forkScope(call.scope), call.cause);
  }
  return hit('bash_exec', 'git');
}

/** `fetch origin +main:main`: the local branch is replaced, not followed. */
function overwritesBranches(args: readonly string[], operands: readonly string[]): boolean {
  const force = hasFlag(args, 'f', '--force');
  return operands
    .slice(1)
    .some((refspec) => (force || refspec.startsWith('+')) && /:(?!refs\/(remotes|tags)\/)./.test(refspec));
}

/** Places that a verb writes to, and a program it opens files with. */
export function reportOutputs(verb: string, args: readonly string[], call: Call): void {
  const { values, operands } = parseOptions(args, [
    '-o',
    '--output',
    '--output-directory',
    '--directory',
    '-O',
  ]);
  const named = [
    '--output',
    '--output-directory',
    '--directory',
    ...(/^(format-patch|archive)$/.test(verb) ? ['-o'] : []),
  ];
  const written = named.flatMap((option) => values.get(option) ?? []);
  if (verb === 'worktree' && operands[0] === 'add') written.push(operands[1] ?? '');
  if (verb === 'bundle' && operands[0] === 'create') written.push(operands[1] ?? '');
  if (written.length > 0) {
    const found = hitOfWrites(written, call.scope);
    if (found.actionClass !== 'file_write') call.inspector.report(found, call.cause);
  }
  if (verb !== 'grep') return;
  const pager = [...(values.get('--open-files-in-pager') ?? []), ...(values.get('-O') ?? [])];
  for (const text of pager) call.inspector.runScript(`${text} ${UNKNOWN}`, forkScope(call.scope), call.cause);
}

/** `key=value` of `-c`. */
export function splitConfig(setting: string): [string, string] {
  const at = setting.indexOf('=');
  return at < 0 ? [setting.toLowerCase(), ''] : [setting.slice(0, at).toLowerCase(), setting.slice(at + 1)];
}

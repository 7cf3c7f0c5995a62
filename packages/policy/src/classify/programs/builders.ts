import { parseOptions } from '../command-options.ts';
import { hit } from '../finding.ts';
import type { Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { forkScope } from '../shell-scope.ts';
import { hitOfWrites } from '../write-hit.ts';

/** make runs what its files say, which is not on the line; what is on the line is judged. */
export const judgeMake: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, ['-C', '-f', '-j', '--eval', '-E']);
  for (const text of [...(values.get('--eval') ?? []), ...(values.get('-E') ?? [])]) {
    for (const line of text.split('\n')) {
      const recipe = line
        .replace(/^[\w. -]+:\s*;?/, '')
        .replace(/^\$\(shell (.*)\)$/, '$1')
        .trim();
      if (recipe !== '') call.inspector.runScript(recipe, forkScope(call.scope), call.cause);
    }
  }
  if (call.args.includes('-f') && values.get('-f')?.[0] === '-' && call.stdin !== undefined) {
    const recipes = call.stdin
      .split('\n')
      .filter((line) => line.startsWith('\t'))
      .join('\n');
    if (recipes !== '') call.inspector.runScript(recipes, forkScope(call.scope), call.cause);
  }
  if (operands.some((target) => /^db:(drop|reset|purge|migrate:reset)$/.test(target)))
    return hit('bash_destructive', 'database-reset');
  if (operands.some((target) => /^(install|uninstall)$/.test(target)) && /^\s*sudo\b/.test(call.cause))
    return hit('system_modify', 'system-install');
  return hit('bash_exec', 'build');
};

/** Archivers that can remove what they packed, or run a test command. */
export const judgeZip: Handler = (call) => {
  const at = call.args.findIndex((arg) => arg === '-TT' || arg === '--unzip-command');
  if (at >= 0) call.inspector.runScript(call.args[at + 1] ?? '', forkScope(call.scope), call.cause);
  const moves =
    call.name === 'zip'
      ? call.args.some((arg) => /^-[a-z]*m|^--move$/.test(arg))
      : call.args.includes('-sdel') || call.args.includes('-df');
  return moves ? hit('bash_destructive', 'archive-and-delete') : hit('file_write', 'file-write');
};

export const judgeUnzip: Handler = (call) => {
  const { values } = parseOptions(call.args, ['-d', '-x', '-P']);
  const folder = values.get('-d')?.[0];
  if (call.args.some((arg) => /^-[lvtz]$/.test(arg))) return hit('file_read', 'read-only-program');
  if (folder !== undefined && kindOfPath(folder, call.scope) === 'root')
    return hit('system_modify', 'system-path');
  return hitOfWrites(folder === undefined ? [] : [folder], call.scope);
};

/** `ansible HOSTS -m shell -a 'COMMAND'`. */
export const judgeAnsible: Handler = (call) => {
  const { values } = parseOptions(call.args, ['-a', '-m', '-i', '-u', '--args', '--module-name']);
  const module = values.get('-m')?.[0] ?? values.get('--module-name')?.[0] ?? 'command';
  const text = values.get('-a')?.[0] ?? values.get('--args')?.[0];
  if (text === undefined) return hit('bash_exec', 'service');
  if (/^(shell|command|raw|ansible\.builtin\.(shell|command|raw))$/.test(module)) {
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  } else if (/state=absent/.test(text)) return hit('bash_destructive', 'service-delete');
  return hit('bash_exec', 'service');
};

import { parseOptions } from '../command-options.ts';
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { forkScope } from '../shell-scope.ts';
import { PROCESS } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';
import { recipesOf } from './makefile.ts';
import { hitOfUnpack } from './file-tools.ts';
import { namesLoss, ordersDestruction } from './destructive-verbs.ts';

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
  const file = values.get('-f')?.[0] ?? '';
  const makefile = file.startsWith(PROCESS)
    ? file.slice(1)
    : /^(-|\/dev\/stdin)$/.test(file)
      ? call.stdin
      : findMakefile(call, file);
  if (makefile !== undefined) {
    const recipes = recipesOf(makefile, operands);
    if (recipes !== '') call.inspector.runScript(recipes, forkScope(call.scope), call.cause);
  }
  if (operands.some(ordersDestruction) || operands.includes('db:schema:load'))
    return hit('bash_destructive', 'destructive-target');
  if (operands.some((target) => /^(install|uninstall)$/.test(target)) && /^\s*sudo\b/.test(call.cause))
    return hit('system_modify', 'system-install');
  runShellOfMake(call);
  return hit('bash_exec', 'build');
};

/** The file that the line itself wrote, under its given name or the usual one. */
function findMakefile(call: Call, file: string): string | undefined {
  const names = file === '' ? ['Makefile', 'makefile', 'GNUmakefile'] : [file];
  return names.map((name) => call.inspector.files.get(name)).find((text) => text !== undefined);
}

/** `make SHELL=CMD` runs every recipe with it; `X='$(shell CMD)'` runs when it is read. */
function runShellOfMake(call: Call): void {
  for (const word of call.args) {
    const shell = /^\.?SHELL(?:FLAGS)?=(.*)$/s.exec(word)?.[1];
    if (shell !== undefined && /\s/.test(shell))
      call.inspector.runScript(shell, forkScope(call.scope), call.cause);
    const inner = /^\w+=.*\$\(shell (.*)\)/s.exec(word)?.[1];
    if (inner !== undefined) call.inspector.runScript(inner, forkScope(call.scope), call.cause);
  }
}

/** Archivers that can remove what they packed, or run a test command. */
export const judgeZip: Handler = (call) => {
  const inline = call.args.find((arg) => arg.startsWith('--unzip-command='))?.slice(16);
  if (inline !== undefined) call.inspector.runScript(inline, forkScope(call.scope), call.cause);
  const at = call.args.findIndex((arg) => arg === '-TT' || arg === '--unzip-command');
  if (at >= 0) call.inspector.runScript(call.args[at + 1] ?? '', forkScope(call.scope), call.cause);
  const moves =
    call.name === 'zip'
      ? call.args.some((arg) => /^-[a-z]*m|^--move$/.test(arg))
      : call.args.includes('-sdel') || call.args.includes('-df');
  if (moves) return hit('bash_destructive', 'archive-and-delete');
  // The compressors replace each file they are given; an archiver writes the first.
  const { operands } = parseOptions(call.args);
  const folder = call.args.find((arg) => /^-o./.test(arg))?.slice(2);
  if (/^7z/.test(call.name) && /^[xe]$/.test(operands[0] ?? '') && folder !== undefined)
    return hitOfUnpack(call, [folder]);
  const written = /^(zip|7z[az]?|rar)$/.test(call.name) ? operands.slice(0, 1) : operands;
  return call.args.some((arg) => /^-[a-z]*[clt]/.test(arg))
    ? hit('file_read', 'read-only-program')
    : hitOfWrites(written, call.scope);
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
  if (/\bstate=absent\b|['"]state['"]\s*:\s*['"]absent/.test(call.args.join(' ')))
    return hit('bash_destructive', 'service-delete');
  if (call.args.some(namesLoss)) return hit('bash_destructive', 'destructive-name');
  if (text === undefined) return hit('bash_exec', 'service');
  if (/^(shell|command|raw|ansible\.builtin\.(shell|command|raw))$/.test(module)) {
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  }
  return hit('bash_exec', 'service');
};

/** Programs that write where their words say, besides editors. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hitOfDelete, hitOfDeletes } from '../delete-hit.ts';
import { hit, worstOf, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { rememberBackups, rememberFilled } from '../made-again.ts';
import { kindOfPath, normalizePath } from '../path-kind.ts';
import { followCopy } from '../follow-copy.ts';
import { forkScope } from '../shell-scope.ts';
import { UNKNOWN } from '../unknown-text.ts';
import { judgeWritten } from '../written-content.ts';
import { hitOfWrites } from '../write-hit.ts';
import { isDryRun } from './dry-run.ts';

export const judgeTee: Handler = (call) => {
  const { operands } = parseOptions(call.args);
  for (const file of call.stdin === undefined ? [] : operands) {
    call.inspector.files.set(file, call.stdin ?? '');
    judgeWritten(file, call.stdin ?? '', call);
  }
  const found = hitOfWrites(operands, call.scope);
  const empties = call.stdin === '' && !hasFlag(call.args, 'a', '--append');
  return empties && found.actionClass === 'file_write' ? hit('file_delete', 'truncate') : found;
};

export const judgeTouch: Handler = (call) => {
  const { operands } = parseOptions(call.args, ['-d', '-t', '-r']);
  const others = operands.filter((path) => !isMailboxFolder(path, call.scope));
  return others.length === 0 && operands.length > 0
    ? hit('file_read', 'mailbox')
    : hitOfWrites(others, call.scope);
};

/** It always exists; agents make it all the same, in the line that leaves a question. */
function isMailboxFolder(path: string, scope: Call['scope']): boolean {
  const full = normalizePath(path, scope).replace(/\/+$/, '');
  return full === '.caisson' || full === `${scope.workspace ?? ''}/.caisson`;
}

/** `cp`, `install`, `ln`: the last word (or -t) is written. */
export const judgeCopy: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, ['-t', '--target-directory', '-m', '-o', '-g', '-S']);
  const target = values.get('-t')?.[0] ?? values.get('--target-directory')?.[0] ?? operands.at(-1) ?? '';
  const sources = operands.slice(0, -1);
  if (sources.some((source) => source === '/dev/null')) {
    const found = hitOfWrites([target], call.scope);
    return found.actionClass === 'file_write' ? hit('file_delete', 'truncate') : found;
  }
  if (sources.some((source) => /^\/dev\/(zero|urandom|random)$/.test(source)))
    return hit('bash_destructive', 'overwrite');
  if (call.stdin !== undefined && sources.some((source) => source === '/dev/stdin' || source === '-')) {
    call.inspector.files.set(target, call.stdin);
    judgeWritten(target, call.stdin, call);
  }
  for (const source of sources) {
    const written = call.inspector.files.get(source);
    if (written !== undefined) call.inspector.files.set(target, written);
    followCopy(source, target, call);
  }
  if (call.name === 'ln')
    rememberFilled(sources.length > 0 ? sources : [target], linkOf(operands), call.scope);
  if (operands.length === 1 && call.name === 'ln') return hitOfWrites([], call.scope);
  return hitOfCopy(sources, target, call);
};

/** `ln -s src` makes a link of that name here. */
function linkOf(operands: readonly string[]): string {
  const last = operands.at(-1) ?? '';
  return operands.length === 1 ? last.replace(/\/+$/, '').replace(/.*\//, '') : last;
}

/** In a home the new name counts; a whole folder of files may bring any name. */
function hitOfCopy(sources: readonly string[], target: string, call: Call): Hit {
  if (kindOfPath(target, call.scope) !== 'home') return hitOfWrites([target], call.scope);
  if (sources.some((source) => /\/(\.|\.?\*|)$/.test(source))) return hit('system_modify', 'overwrites-home');
  return hitOfWrites(
    sources.map((source) => `${target}/${source.replace(/.*\//, '')}`),
    call.scope,
  );
}

/** `split -b 1 x PREFIX`: the second word begins the names that are written. */
export const judgeSplit: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, [
    '-b',
    '-l',
    '-n',
    '-a',
    '-C',
    '-t',
    '--filter',
    '--bytes',
    '--lines',
    '-f',
  ]);
  for (const text of values.get('--filter') ?? [])
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  return hitOfWrites([...operands.slice(1, 2), ...(values.get('-f') ?? [])], call.scope);
};

export const judgeMove: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, ['-t', '--target-directory', '-S']);
  const into = values.get('-t')?.[0] ?? values.get('--target-directory')?.[0];
  const target = into ?? operands.at(-1) ?? '';
  const sources = into === undefined ? operands.slice(0, -1) : operands;
  if (target === '/dev/null') return hit('bash_destructive', 'move-to-null');
  if (/(^|\/)\.?Trash(es)?(\/|$)|\$Recycle\.Bin/i.test(target))
    return hitOfDeletes(sources, true, call.scope);
  if (sources.includes('/dev/null')) return hit('file_delete', 'truncate');
  // A whole folder, moved to where the machine cleans up.
  const goesAway = isTidied(target, call) || kindOfPath(target, call.scope) === 'outside';
  if (goesAway && sources.some((source) => isWholeFolder(source, call)))
    return hit('bash_destructive', 'move-to-temp');
  for (const source of sources) followCopy(source, target, call);
  rememberFilled(sources, target, call.scope);
  const lost = sources.map((source) => hitOfDelete(source, true, call.scope)).filter(isGraveLoss);
  return worstOf([...lost, hitOfWrites([target], call.scope)]) ?? hit('file_write', 'file-write');
};

function isTidied(target: string, { scope }: Call): boolean {
  return (
    kindOfPath(target, scope) === 'temp' ||
    /^(\/private)?(\/var)?\/tmp$|^\/dev\/shm$/.test(normalizePath(target, scope))
  );
}

/** A folder of the home, the sources of a project, or all that is in some folder. */
function isWholeFolder(source: string, { scope }: Call): boolean {
  if (['temp', 'regenerable'].includes(kindOfPath(source, scope))) return false;
  const full = normalizePath(source, scope);
  return /^~\/[^/]+(\/\*+)?$/.test(full) && !/\.\w{1,5}$/.test(full)
    ? true
    : /(^|\/)\*+$/.test(full) || /^(src|lib|app|packages|migrations|tests?)$/.test(full);
}

function isGraveLoss(found: Hit): boolean {
  return (
    found.actionClass === 'system_modify' ||
    ['delete-root', 'delete-home', 'delete-workspace', 'git-data'].includes(found.rule)
  );
}

export const judgeSed: Handler = (call) => {
  const { flags, operands, values } = parseOptions(call.args, ['-e', '-f', '--expression', '--file']);
  const given = [...(values.get('-e') ?? []), ...(values.get('--expression') ?? [])];
  const scripts = given.length > 0 ? given : operands.slice(0, 1);
  const files = given.length > 0 ? operands : operands.slice(1);
  for (const text of scripts.flatMap(commandsOfSed))
    call.inspector.runScript(text, forkScope(call.scope), call.cause);
  const isInPlace = flags.some((flag) => /^-[a-zA-Z]*i/.test(flag) || flag.startsWith('--in-place'));
  const written = scripts.flatMap((script) =>
    [...script.matchAll(/(?:^|[;}\d$]\s*|\/)w\s+(\/?\S+)/g)].map((match) => match[1] ?? ''),
  );
  if (!isInPlace) {
    return written.length > 0 ? hitOfWrites(written, call.scope) : hit('file_read', 'read-only-program');
  }
  rememberBackups(flags, files, call.scope);
  for (const file of files)
    for (const script of scripts)
      if (INSERTS.test(script)) judgeWritten(file, script.replace(INSERTS, ''), call);
  const found = hitOfWrites([...files, ...written], call.scope);
  const isSilent = hasFlag(flags, 'n', '--quiet', '--silent') && !scripts.some((script) => /p/.test(script));
  const empties = isSilent || scripts.flatMap((script) => script.split(/[;\n]/)).some(isEmptyingEdit);
  return empties && found.actionClass === 'file_write' ? hit('file_delete', 'truncate') : found;
};

/** `/steps:/a TEXT`: a separate line. */
const INSERTS = /^[^\n]*?[/\d$][aic]\\?\s+/;

/** An edit that leaves nothing: every line deleted, or its whole text replaced by nothing. */
export function isEmptyingEdit(script: string): boolean {
  return /^(1,\$|1,\d{3,}|%|0~1|\/\.?\*?\/|\/\^\/)?\s*d\s*;?$|^s(\W)\^?\.[*+]\$?\2\2[gms]*\s*;?$|^\$_\s*=\s*(""|''|q\{\}|q\(\)|undef)\s*;?$|^undef\s+\$_\s*;?$/.test(
    script.trim(),
  );
}

/** GNU sed's `e COMMAND` runs a program. */
function commandsOfSed(script: string): string[] {
  const commands = [...script.matchAll(/(?:^|;|\d|\$|\/)\s*e\s+([^;]+)/g)].map((match) => match[1] ?? '');
  const replaced = /(?:^|;)\s*s(\W)(?:(?!\1).)*\1((?:(?!\1).)*)\1[gipI\d]*e/.exec(script)?.[2];
  return replaced === undefined ? commands : [...commands, replaced.replaceAll('&', UNKNOWN)];
}

export const judgeRsync: Handler = (call) => {
  if (
    isDryRun(call.args) ||
    hasFlag(
      call.args.filter((arg) => !arg.startsWith('--')),
      'n',
    )
  )
    return hit('file_read', 'dry-run');
  if (call.args.some((arg) => /^--(del|delete.*|remove-source-files)$/.test(arg)))
    return hit('bash_destructive', 'rsync-delete');
  const { operands, values } = parseOptions(call.args, ['-e', '--rsh', '--exclude', '--include', '-f']);
  for (const text of [...(values.get('-e') ?? []), ...(values.get('--rsh') ?? [])]) {
    if (!text.startsWith('ssh')) call.inspector.runScript(text, forkScope(call.scope), call.cause);
  }
  const target = operands.at(-1) ?? '';
  if (/^[\w.@-]+:/.test(target)) return hit('network', 'network');
  return hitOfCopy(operands.slice(0, -1), target, call);
};

export const judgeTar: Handler = (call) => {
  const { values } = parseOptions(call.args, [
    '-C',
    '-I',
    '--directory',
    '--to-command',
    '--use-compress-program',
    '--checkpoint-action',
  ]);
  const texts = [
    '-I',
    '--to-command',
    '--use-compress-program',
    '--checkpoint-action',
    '--rsh-command',
  ].flatMap((key) => values.get(key) ?? []);
  for (const text of texts)
    call.inspector.runScript(text.replace(/^exec=/, ''), forkScope(call.scope), call.cause);
  if (call.args.includes('--remove-files')) return hit('bash_destructive', 'tar-remove-files');
  if (/^-?[a-zA-Z]*t/.test(call.args[0] ?? '') || call.args.includes('--list'))
    return hit('file_read', 'read-only-program');
  const unpacks =
    /^-?[a-zA-Z]*x/.test(call.args[0] ?? '') || call.args.some((arg) => /^-\w*x|^--extract$/.test(arg));
  if (
    unpacks &&
    call.args.some(
      (arg, index) => /^-\w*P|^--absolute-names$/.test(arg) || (index === 0 && /^\w+P/.test(arg)),
    )
  )
    return hit('system_modify', 'system-path');
  const folder = values.get('-C')?.[0] ?? values.get('--directory')?.[0];
  if (folder === undefined) return hit('file_write', 'file-write');
  return kindOfPath(folder, call.scope) === 'root'
    ? hit('system_modify', 'system-path')
    : hitOfWrites([folder], call.scope);
};

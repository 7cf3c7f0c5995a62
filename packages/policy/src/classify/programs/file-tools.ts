/** Tools that rename, patch, unpack or convert: each writes where one of its words says. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { forkScope } from '../shell-scope.ts';
import { hitOfWrites } from '../write-hit.ts';

/** `patch [FILE]`, `patch -d DIR`. */
export const judgePatch: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, [
    '-d',
    '-i',
    '-o',
    '-p',
    '-r',
    '-B',
    '-D',
    '--directory',
  ]);
  if (hasFlag(call.args, '', '--dry-run')) return hit('file_read', 'dry-run');
  const folders = [...(values.get('-d') ?? []), ...(values.get('--directory') ?? [])];
  return hitOfUnpack(call, folders, [...operands.slice(0, 1), ...(values.get('-o') ?? [])]);
};

export const judgeCpio: Handler = (call) => {
  const { values } = parseOptions(call.args, ['-D', '-F', '-O', '-I', '-H', '--directory']);
  if (hasFlag(call.args, 't', '--list')) return hit('file_read', 'read-only-program');
  if (hasFlag(call.args, 'u', '--unconditional')) return hit('bash_destructive', 'overwrite');
  return hitOfUnpack(
    call,
    [...(values.get('-D') ?? []), ...(values.get('--directory') ?? [])],
    values.get('-O') ?? [],
  );
};

/** Unpacking into the root of the file system is writing all of it. */
export function hitOfUnpack(
  call: Call,
  folders: readonly string[],
  files: readonly string[] = [],
): ReturnType<Handler> {
  if (folders.some((folder) => kindOfPath(folder, call.scope) === 'root'))
    return hit('system_modify', 'system-path');
  return hitOfWrites([...folders, ...files], call.scope);
}

/** An expression that gives every file the same name, or force, loses all but one. */
export const judgeRename: Handler = (call) => {
  if (hasFlag(call.args, 'n', '--no-act', '--dry-run', '--just-print')) return hit('file_read', 'dry-run');
  const { operands } = parseOptions(call.args, ['-e']);
  const isForced = hasFlag(call.args, 'f', '--force');
  const isTotal = operands.some((word) => /^[sy](\W)\^?\.[*+]\$?\1[^$\\&{]*\1/.test(word));
  const mergesAll =
    /^(mmv|zmv|mcp)$/.test(call.name) && operands.length > 1 && !/[#$]/.test(operands.at(-1) ?? '');
  if (isForced || isTotal || mergesAll) return hit('bash_destructive', 'rename-over');
  return hit('file_write', 'file-write');
};

const CMAKE_TOOLS: Readonly<Record<string, readonly string[]>> = {
  rm: ['rm'],
  remove: ['rm'],
  remove_directory: ['rm', '-r'],
  rename: ['mv'],
  copy: ['cp'],
  copy_directory: ['cp', '-r'],
  copy_if_different: ['cp'],
  create_symlink: ['ln', '-s'],
  touch: ['touch'],
  make_directory: ['mkdir'],
  tar: ['tar'],
  env: ['env'],
  time: ['time'],
};

/** `cmake -E TOOL …` carries the usual file tools. */
export const judgeCmake: Handler = (call) => {
  if (call.args[0] !== '-E') return hit('bash_exec', 'build');
  const [, tool = '', ...rest] = call.args;
  const argv = Object.hasOwn(CMAKE_TOOLS, tool) ? CMAKE_TOOLS[tool] : undefined;
  if (argv === undefined) return hit('bash_exec', 'build');
  call.inspector.runArgv([...argv, ...rest], forkScope(call.scope), call.cause);
  return null;
};

/** Converters write their last word. */
export const judgeConverter: Handler = (call) => {
  const { operands } = parseOptions(call.args);
  // `qemu-img create -f raw FILE SIZE`, `ddrescue IN OUT MAP`
  const found = hitOfWrites(operands.slice(call.name === 'ddrescue' ? 1 : -2), call.scope);
  return found.actionClass === 'file_write' ? hit('bash_exec', 'converter') : found;
};

/** `xxd -r IN OUT` writes; without a second word it prints. */
export const judgeXxd: Handler = (call) => {
  const [, written] = parseOptions(call.args, ['-s', '-l', '-c', '-g', '-n', '-o']).operands;
  return written === undefined ? hit('file_read', 'read-only-program') : hitOfWrites([written], call.scope);
};

/** Making a key pair overwrites the named file. */
export const judgeSshKeygen: Handler = (call) => {
  const file = parseOptions(call.args, ['-f', '-t', '-b', '-C', '-N', '-P', '-R', '-F', '-m']).values.get(
    '-f',
  )?.[0];
  if (file === undefined || hasFlag(call.args, 'lyFR')) return hit('bash_exec', 'ssh-keygen');
  return hitOfWrites([file], call.scope);
};

/** An editor may write the file it opens. */
export const judgeEditor: Handler = (call) => {
  const found = hitOfWrites(parseOptions(call.args).operands, call.scope);
  return found.actionClass === 'file_write' ? hit('bash_exec', 'editor') : found;
};

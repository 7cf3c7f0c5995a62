/** Who may do what with which file. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { kindOfPath, normalizePath } from '../path-kind.ts';

/** `chmod`, `chown`, `chgrp`, `setfacl`. */
export const judgeChmod: Handler = (call) => {
  const { flags, operands, values } = parseOptions(call.args, ['--reference']);
  const reference = values.has('--reference');
  const minusMode = flags.find((flag) => /^-[rwxst]+$/.test(flag) && !/^-R$/.test(flag));
  const [mode = '', ...paths] =
    call.name === 'chmod' && !reference
      ? minusMode === undefined
        ? operands
        : [minusMode, ...operands]
      : ['', ...operands.slice(reference ? 0 : 1)];
  const isRecursive = hasFlag(flags, 'R', '--recursive');
  if (
    call.name === 'chmod' &&
    TIGHTENS.test(mode) &&
    paths.length > 0 &&
    paths.every((path) => isOwnKey(path, call))
  )
    return hit('file_write', 'permissions');
  const grave = paths
    .map((path) => kindOfPath(path, call.scope))
    .find((kind) => ['root', 'system', 'device', 'control'].includes(kind));
  const isHome = isRecursive && paths.some((path) => kindOfPath(path, call.scope) === 'home');
  if (grave !== undefined || isHome) return hit('system_modify', 'permissions');
  if (call.name === 'chmod' && /^(0{1,4}|a-rwx|ugo-rwx|a=|-rwx)$/.test(mode))
    return hit('bash_destructive', 'permissions');
  if (call.name === 'setfacl')
    return isRecursive && hasFlag(flags, 'bxkm', '--remove', '--remove-all', '--modify')
      ? hit('bash_destructive', 'permissions')
      : hit('file_write', 'permissions');
  if (call.name === 'chmod' && /^([246][0-7]{3}|[ugoa]*\+[rwxX]*s)/.test(mode))
    return hit('system_modify', 'setuid');
  if (
    call.name === 'chmod' &&
    isRecursive &&
    mode
      .split(',')
      .some((part) =>
        /^(0?[0-7]?77|0?000|(?:[ugoa]*[ua][ugoa]*)?-[rwxX]+|[ao]*\+\w*w\w*|(a|ugo|u)=(rwx)?)$/.test(part),
      ) &&
    mode !== '+x'
  ) {
    return hit('bash_destructive', 'permissions');
  }
  // Anyone on the machine could write it.
  if (
    call.name === 'chmod' &&
    /^([0-7]?[0-7]{2}[2367]|[ugo]*[ao][ugo]*[+=][rxX]*w[rxX]*)$/.test(mode) &&
    !isTemporary(paths, call)
  )
    return hit('bash_destructive', 'permissions');
  // The owner of the work would lose it.
  if (
    /^ch(own|grp)$/.test(call.name) &&
    isRecursive &&
    /^:?(root|nobody|nogroup|wheel|0)([:.]|$)/.test(operands[0] ?? '')
  )
    return hit('bash_destructive', 'permissions');
  return hit('file_write', 'permissions');
};

function isTemporary(paths: readonly string[], call: Call): boolean {
  return paths.length > 0 && paths.every((path) => kindOfPath(path, call.scope) === 'temp');
}

/** Leaves a file to its owner alone, who can still read it; what ssh and gpg ask for. */
const TIGHTENS = /^0?[4-7]00$|^(go|og)(-[rwxX]+|=)$|^u=rw?x?,go=$/;

function isOwnKey(path: string, { scope }: Call): boolean {
  return /^(~|\/home\/[^/]+|\/root)\/\.(ssh|gnupg|aws|kube|netrc|pgpass|npmrc|pypirc|docker)(\/|$)/.test(
    normalizePath(path, scope),
  );
}

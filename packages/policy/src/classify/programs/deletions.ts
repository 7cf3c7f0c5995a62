/** Programs that delete. */
import { severityOf } from '../../action-class.ts';
import { hasFlag, parseOptions } from '../command-options.ts';
import { hitOfDelete, hitOfDeletes } from '../delete-hit.ts';
import { hit } from '../finding.ts';
import { hitOfWrites } from '../write-hit.ts';
import type { Call, Handler } from '../inspector.ts';
import { isUnknown } from '../unknown-text.ts';

export const judgeRm: Handler = (call) => {
  if (hasFlag(call.args, '', '--help', '--version')) return hit('file_read', 'read-only-program');
  const { flags, operands } = parseOptions(call.args);
  const isRecursive = hasFlag(flags, 'rR', '--recursive', '--no-preserve-root') || flags.some(isUnknown);
  return hitOfDeletes(operands, isRecursive, call.scope);
};

/** `rmdir` removes empty folders only; that of another system accepts `/s`. */
export const judgeRmdir: Handler = (call) => {
  const isRecursive = call.args.some((arg) => /^\/s$/i.test(arg));
  const paths = parseOptions(call.args).operands.filter((arg) => !/^\/[sq]$/i.test(arg));
  return hitOfDeletes(paths, isRecursive, call.scope);
};

/** `npx rimraf dist`, `del-cli dist`: recursive by nature. */
export const judgeRimraf: Handler = (call) => {
  if (hasFlag(call.args, '', '--help', '--version')) return hit('file_read', 'read-only-program');
  return hitOfDeletes(parseOptions(call.args).operands, true, call.scope);
};

export const judgeShred: Handler = (call) =>
  hasFlag(call.args, '', '--help', '--version')
    ? hit('file_read', 'read-only-program')
    : hit(hasDevice(call) ? 'system_modify' : 'bash_destructive', 'shred');

export const judgeTruncate: Handler = (call) => {
  const { operands, values } = parseOptions(call.args, ['-s', '--size', '-r', '--reference']);
  const size = values.get('-s')?.[0] ?? values.get('--size')?.[0] ?? '';
  if (size.startsWith('+')) return hit('file_write', 'file-write');
  if (
    /^[1-9]\d*[KMGT]/i.test(size) &&
    operands.every((file) => /\.(img|raw|bin|iso|dat|qcow2|vhd)$/.test(file))
  )
    return hitOfWrites(operands, call.scope);
  const found = hitOfDeletes(operands, false, call.scope);
  return severityOf(found.actionClass) > severityOf('file_delete')
    ? found
    : hit(found.actionClass, 'truncate');
};

/** Punching holes and collapsing ranges removes content; growing a file does not. */
export const judgeFallocate: Handler = (call) =>
  hasFlag(call.args, 'pcz', '--punch-hole', '--collapse-range', '--zero-range')
    ? hit('file_delete', 'truncate')
    : call.args.some((arg) => /^(--length=)?(\d{3,}G|\d+T|\d{12,})/i.test(arg))
      ? hit('bash_destructive', 'fills-disk')
      : hitOfWrites(parseOptions(call.args, ['-l', '-o', '--length']).operands, call.scope);

function hasDevice(call: Call): boolean {
  return call.args.some((arg) => hitOfDelete(arg, false, call.scope).rule === 'delete-device');
}

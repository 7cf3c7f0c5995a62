/** `dd of=…`: where it writes, and how much. */
import { hit } from '../finding.ts';
import type { Handler } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { isUnknown } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';

export const judgeDd: Handler = (call) => {
  const setting = (key: string) => call.args.find((arg) => arg.startsWith(`${key}=`))?.slice(key.length + 1);
  const target = setting('of');
  if (target === undefined) return hit('file_read', 'read-only-program');
  const found = hitOfWrites([target], call.scope);
  if (found.actionClass !== 'file_write' || kindOfPath(target, call.scope) === 'sink') return found;
  const source = setting('if') ?? '';
  if (source === '/dev/null' || (source === '' && call.stdin === '')) return hit('file_delete', 'truncate');
  // Zeros over an existing file, as `find -exec` names them.
  if (
    /^\/dev\/(zero|urandom|random)$/.test(source) &&
    (isUnknown(target) || isKeptFile(target) || setting('conv')?.includes('notrunc') === true)
  )
    return hit('bash_destructive', 'overwrite');
  if (setting('count') === '0') return hit('file_delete', 'truncate');
  const size = sizeOf(setting('bs')) * Number(setting('count') ?? 0);
  if (size >= FILLS_DISK) return hit('bash_destructive', 'fills-disk');
  const isEndless = /^\/dev\/(zero|urandom|random)$/.test(source) && setting('count') === undefined;
  return isEndless ? hit('bash_destructive', 'fills-disk') : found;
};

const FILLS_DISK = 100 * 2 ** 30;
const UNITS = ' kmgt';

/** `4M` as a number of bytes. */
function sizeOf(text = '512'): number {
  const [, digits = '0', unit = ' '] = /^(\d+)([kmgt])?/i.exec(text) ?? [];
  return Number(digits) * 1024 ** UNITS.indexOf(unit.toLowerCase());
}

/** A name under which people keep work or data, not a file made to fill a disk or to test an upload. */
function isKeptFile(path: string): boolean {
  return /\.(db|sqlite3?|sql|ya?ml|json|toml|ini|env|conf|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|cs|php|md|html?|css|sh|pem|key|docx?|xlsx?|pdf)$/i.test(
    path,
  );
}

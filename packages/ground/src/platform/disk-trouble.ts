/** Explains a full or read-only disk, with the disk's name and the remedy. */
import { CaissonError } from '@caisson/protocol';

const FREE_SPACE =
  'Free some space on that disk and try again. caisson gc --older-than 0s deletes what no run needs, with --all also runs whose work you have; caisson du shows what takes the space.';
const TROUBLES = [
  { code: 'ENOSPC', text: 'No space left on device', state: 'is full', remedy: FREE_SPACE },
  { code: 'EDQUOT', text: 'Disk quota exceeded', state: 'gives this user no more space', remedy: FREE_SPACE },
  {
    code: 'EROFS',
    text: 'Read-only file system',
    state: 'is read-only',
    remedy: 'Make it writable again (mount -o remount,rw); the system log has the reason.',
  },
] as const;

export interface DiskTrouble {
  /** For example `the disk that holds /srv/project is full`. */
  readonly what: string;
  readonly remedy: string;
}

/** What is wrong with the disk, from an error of the system or the words of a program; `null` when it is not the disk. */
export function findDiskTrouble(said: unknown, path?: string): DiskTrouble | null {
  const trouble = TROUBLES.find(({ code, text }) =>
    typeof said === 'string'
      ? said.includes(text)
      : said instanceof Error && 'code' in said && said.code === code,
  );
  if (trouble === undefined) return null;
  const place = path ?? pathOf(said);
  const disk = place === null ? 'a disk' : `the disk that holds ${place}`;
  return { what: `${disk} ${trouble.state}`, remedy: trouble.remedy };
}

/** Whether a disk has no space for what failed, or gives this user no more of it. */
export function isDiskFull(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ([cause, cause.message].some((said) => findDiskTrouble(said)?.remedy === FREE_SPACE)) return true;
  return false;
}

/** What went wrong, in words for the user: with the disk that caused it, and a remedy if one is known. */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOurs = error instanceof CaissonError;
  const trouble = findDiskTrouble(isOurs ? error.cause : error);
  if (trouble !== null && !/the disk that holds/i.test(error.message))
    return `${trouble.what}: ${error.message.replace(/\.$/, '')}. ${trouble.remedy}`;
  return isOurs ? withRemedy(error.message, error.remedy) : error.message;
}

function withRemedy(message: string, remedy: string | undefined): string {
  return remedy === undefined || message.includes(remedy) ? message : `${message} ${remedy}`;
}

/** Where two paths are named, the second one was written to. */
function pathOf(error: unknown): string | null {
  const { path, dest } = error as { path?: unknown; dest?: unknown };
  if (typeof dest === 'string') return dest;
  return typeof path === 'string' ? path : null;
}

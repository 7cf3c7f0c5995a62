/**
 * One spelling for all names that some file system treats as the same: case and compatibility forms, code points that
 * HFS+ ignores, dots and spaces that Windows cuts off at the end, streams of NTFS, and NTFS's short name of `.git`.
 */
export function foldName(name: string): string {
  const folded = name
    .replaceAll(HFS_IGNORED, '')
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/(?<=.):.*$/s, '')
    .replace(/(?<=[^. ])[. ]+$/, '');
  return /^git~\d+$/.test(folded) ? '.git' : folded;
}

/** As git counts them: joiners, direction marks, deprecated format characters and the byte order mark. */
const HFS_IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Whether a link at `path` leads out of the project. Only names are compared: `..` after a name may pass another link,
 * so its end is unknown. `root` is the project's folder as the maker of the link sees it.
 */
export function leavesProject(path: string, target: string, root: string): boolean {
  if (target.startsWith('/')) {
    const inside = target === root || target.startsWith(`${root}/`);
    return !inside || target.split('/').includes('..');
  }
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const up = steps.findIndex((step) => step !== '..');
  const ups = up === -1 ? steps.length : up;
  if (steps.slice(ups).includes('..')) return true;
  return ups > path.split('/').length - 1;
}

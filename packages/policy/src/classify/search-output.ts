/** Where the files lie that a search prints: only a search of everything is of interest. */
import { kindOfPath } from './path-kind.ts';
import type { ShellScope } from './shell-scope.ts';
import { UNTRUSTED } from './unknown-text.ts';

const SEARCHES = new Set('grep egrep fgrep zgrep rg ag ack find gfind fd fdfind locate mdfind'.split(' '));

/** `/` or `~` with an unknown name below it, when a search of all of that lists its files; else null. */
export function outputOfSearch(name: string, args: readonly string[], scope: ShellScope): string | null {
  if (!SEARCHES.has(name)) return null;
  const isFind = name.endsWith('find') || name.startsWith('fd');
  const lists = isFind || args.some((arg) => /^-[a-zA-Z]*[lL]|^--files-with(out)?-match/.test(arg));
  if (!lists || (isFind && args.some((arg) => /^-(exec|delete|ok|printf|fprint)/.test(arg)))) return null;
  const root = args.find(
    (arg) => /^[/~]/.test(arg) && ['root', 'home', 'system'].includes(kindOfPath(arg, scope)),
  );
  return root === undefined ? null : `${root.replace(/\/$/, '')}/${UNTRUSTED}`;
}

/** Whether a file to be changed comes from such a search. */
export function isAnywhere(path: string, scope: ShellScope): boolean {
  const at = path.indexOf(UNTRUSTED);
  if (at < 1) return false;
  const folder = path.slice(0, at).replace(/(?<=.)\/$/, '');
  return path[at - 1] === '/' && ['root', 'home', 'system'].includes(kindOfPath(folder, scope));
}

/** Several small objects in one process. */
import type { Git } from './git.ts';

/** Contents by id, as UTF-8; null for what is larger than `maxBytes` or is no blob of this repository. */
export async function readBlobs(
  git: Git,
  ids: readonly string[],
  maxBytes: number,
): Promise<ReadonlyMap<string, string | null>> {
  const contents = new Map<string, string | null>(ids.map((id) => [id, null]));
  if (ids.length === 0) return contents;
  const checked = await git.text(['cat-file', '--batch-check'], { stdin: lines(ids) });
  const small = checked.split('\n').flatMap((line) => {
    const [id = '', kind, size] = line.split(' ');
    return kind === 'blob' && Number(size) <= maxBytes ? [id] : [];
  });
  if (small.length === 0) return contents;
  const { stdout } = await git.run(['cat-file', '--batch'], { stdin: lines(small) });
  let at = 0;
  for (const id of small) {
    const end = stdout.indexOf(0x0a, at);
    const size = Number(stdout.toString('latin1', at, end).split(' ')[2]);
    contents.set(id, stdout.toString('utf8', end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return contents;
}

/** Whether each of these names (`COMMIT:PATH`, bytes in Latin-1) is an object. */
export async function whichExist(git: Git, names: readonly string[]): Promise<boolean[]> {
  const asked = names.map((name) => (name.includes('\n') ? '' : name));
  const checked = await git.run(['cat-file', '--batch-check'], {
    stdin: Buffer.from(lines(asked), 'latin1'),
  });
  return checked.stdout
    .toString('latin1')
    .split('\n')
    .slice(0, names.length)
    .map((line) => !line.endsWith(' missing'));
}

function lines(words: readonly string[]): string {
  return words.map((word) => `${word}\n`).join('');
}

/** What our refs keep in the user's repository: objects that no branch, tag or stash of theirs has. */
import { custodyGit } from './custody.ts';
import { NAMESPACE } from './locate-repository.ts';

export interface RefUsage {
  readonly repository: string;
  readonly refs: number;
  /** Null where git cannot tell: it is too old, or a ref is broken. */
  readonly bytes: number | null;
}

/** More would make a long list of revisions; the newest have most of what there is. */
const MAX_OTHERS = 1000;

export async function measureRefs(repository: string): Promise<RefUsage> {
  const git = custodyGit(repository);
  const list = async (...args: string[]): Promise<string[]> =>
    (await git.text(['for-each-ref', ...args])).split('\n').filter(Boolean);
  const own = await list('--format=%(refname)', `${NAMESPACE}/`);
  if (own.length === 0) return { repository, refs: 0, bytes: 0 };
  const types = '--format=%(objecttype)%(*objecttype) %(refname)';
  const others = await list(types, '--sort=-creatordate', `--count=${MAX_OTHERS}`, ...USERS);
  const names = others.filter((line) => /^(tag)?commit /.test(line)).map((line) => line.split(' ')[1] ?? '');
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD'], { okExitCodes: [0, 1, 128] });
  if (head.exitCode === 0) names.push('HEAD');
  // A tree is compared with trees alone.
  const without = names.flatMap((name) => [`^${name}`, `^${name}^{tree}`]);
  const measured = await git.run(['rev-list', '--objects', '--disk-usage', '--stdin'], {
    stdin: [...own, ...without].map((line) => `${line}\n`).join(''),
    okExitCodes: [0, 1, 128, 129],
  });
  const bytes = measured.exitCode === 0 ? Number(measured.stdout.toString('utf8').trim()) : NaN;
  return { repository, refs: own.length, bytes: Number.isFinite(bytes) ? bytes : null };
}

const USERS = ['refs/heads/', 'refs/tags/', 'refs/remotes/', 'refs/stash'];

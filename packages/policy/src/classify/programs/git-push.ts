import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';

/** A push leaves the machine; one that can remove or rewrite what others have is destructive. */
export function judgePush(args: readonly string[]): Hit {
  if (hasFlag(args, 'n', '--dry-run')) return hit('network', 'git-push-dry-run');
  const rewrites =
    hasFlag(
      args,
      'fd',
      '--force',
      '--force-with-lease',
      '--force-if-includes',
      '--mirror',
      '--delete',
      '--prune',
    ) || args.some((arg) => /^--(forc|del|mir|pru)/.test(arg));
  if (rewrites) return hit('git_destructive', 'git-push-force');
  const [, ...refspecs] = parseOptions(args, [
    '-o',
    '--push-option',
    '--repo',
    '--receive-pack',
    '--exec',
  ]).operands;
  if (refspecs.some((refspec) => /^[+:]./.test(refspec))) return hit('git_destructive', 'git-push-force');
  return hit('git_push', 'git-push');
}

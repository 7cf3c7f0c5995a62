/** Verbs about branches, tags, stashes, work trees and untracked files. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';

const destroys = (rule: string): Hit => hit('git_destructive', rule);
const acts = hit('bash_exec', 'git');
const reads = hit('file_read', 'git-read');

export function judgeClean(args: readonly string[]): Hit {
  if (hasFlag(args, 'n', '--dry-run')) return reads;
  return hasFlag(args, 'fdxX', '--force') ? destroys('git-clean') : acts;
}

export function judgeBranch(args: readonly string[]): Hit {
  const force = hasFlag(args, 'f', '--force');
  if (hasFlag(args, 'D') || force) return destroys('git-branch-delete');
  if (
    hasFlag(
      args,
      'dmMcC',
      '--delete',
      '--move',
      '--copy',
      '--set-upstream-to',
      '--unset-upstream',
      '--edit-description',
    )
  ) {
    return hasFlag(args, 'r', '--remotes') && hasFlag(args, 'd', '--delete')
      ? destroys('git-branch-delete')
      : acts;
  }
  const names = parseOptions(args, [
    '--sort',
    '--format',
    '--contains',
    '--merged',
    '--no-merged',
    '--points-at',
  ]).operands;
  return names.length === 0 || hasFlag(args, 'avrl', '--list', '--all', '--show-current') ? reads : acts;
}

export function judgeTag(args: readonly string[]): Hit {
  if (hasFlag(args, 'd', '--delete')) return destroys('git-tag-delete');
  if (hasFlag(args, 'f', '--force')) return destroys('git-tag-move');
  return args.length === 0 || hasFlag(args, 'l', '--list', '--sort', '--contains', '--points-at')
    ? reads
    : acts;
}

export function judgeStash(args: readonly string[]): Hit {
  if (args[0] === 'drop' || args[0] === 'clear') return destroys('git-stash-drop');
  return args[0] === 'list' || args[0] === 'show' ? reads : acts;
}

export function judgeWorktree(args: readonly string[]): Hit {
  if (args[0] === 'list') return reads;
  if (args[0] !== 'remove') return acts;
  return hasFlag(args, 'f', '--force') ? destroys('git-worktree-remove') : acts;
}

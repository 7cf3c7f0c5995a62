/** The verbs that move between states of the work tree, and can throw away what is not committed. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hit, type Hit } from '../finding.ts';

const acts = hit('bash_exec', 'git');
const discards = hit('git_destructive', 'git-discard-changes');
/** A bare argument that is surely a file and not a branch. */
const LOOKS_LIKE_FILE =
  /^\.$|^\.\.?\/|\*|\/$|^:\/|\.(c|cc|cpp|h|hpp|cs|css|scss|less|dart|ex|exs|go|gradle|html|java|js|jsx|mjs|cjs|json|jsonc|kt|lock|lua|md|mdx|php|pl|proto|py|rb|rs|sh|sql|svelte|swift|toml|ts|tsx|mts|txt|vue|xml|ya?ml|zig|env|cfg|ini|ipynb)$|^(Makefile|Dockerfile|README|LICENSE)$/;

export function judgeCheckout(args: readonly string[]): Hit {
  if (hasFlag(args, 'f', '--force') || hasFlag(args, 'B')) return discards;
  if (
    hasFlag(args, 'b', '--orphan', '--track', '--detach', '--ours', '--theirs', '--patch') ||
    hasFlag(args, 'tp')
  )
    return acts;
  if (args.includes('--')) return args.at(-1) === '--' ? acts : discards;
  const { operands } = parseOptions(args);
  if (operands.some((word) => LOOKS_LIKE_FILE.test(word))) return discards;
  return operands.length > 1 ? discards : acts;
}

export function judgeSwitch(args: readonly string[]): Hit {
  return hasFlag(args, 'fC', '--force', '--discard-changes', '--force-create') ? discards : acts;
}

export function judgeRestore(args: readonly string[]): Hit {
  const staged = hasFlag(args, 'S', '--staged');
  const worktree = hasFlag(args, 'W', '--worktree');
  return (staged && !worktree) || hasFlag(args, 'p', '--patch') ? acts : discards;
}

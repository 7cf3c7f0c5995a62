/** git: what it reads, what it destroys, what leaves the machine. */
import { hasFlag, parseOptions } from '../command-options.ts';
import { hitOfDeletes } from '../delete-hit.ts';
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { rememberFilled } from '../made-again.ts';
import { forkScope } from '../shell-scope.ts';
import { UNKNOWN, withoutUnknown } from '../unknown-text.ts';
import { judgeCheckout, judgeRestore, judgeSwitch } from './git-checkout.ts';
import { aliasNamed, judgeGitConfig, runConfigValue } from './git-config.ts';
import { settingsIn } from './git-settings.ts';
import { ordersDestruction } from './destructive-verbs.ts';
import { judgePush } from './git-push.ts';
import { judgeTransport, reportOutputs, splitConfig } from './git-transport.ts';
import { judgeBranch, judgeClean, judgeStash, judgeTag, judgeWorktree } from './git-refs.ts';

const READS = new Set(
  'status log diff show blame shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep name-rev merge-base for-each-ref show-ref whatchanged count-objects cherry help version var check-ignore check-attr diff-tree diff-index diff-files fsck verify-commit verify-tag range-diff annotate show-branch merge-tree get-tar-commit-id archive format-patch bundle interpret-trailers patch-id'.split(
    ' ',
  ),
);
const GLOBAL_VALUED = new Set([
  '-C',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--super-prefix',
]);

const destroys = (rule: string): Hit => hit('git_destructive', rule);
const acts = hit('bash_exec', 'git');
const reads = hit('file_read', 'git-read');

/** `git [options] verb …`; also `git-verb …`. */
export const judgeGit: Handler = (call) => {
  const aliases = new Map<string, string>();
  let index = 0;
  let cleansFreely = false;
  const set = (key: string, value: string): void => {
    const alias = aliasNamed(key);
    if (alias !== null) aliases.set(alias, value);
    else runConfigValue(call, key, value);
    if (key === 'clean.requireforce' && /^(false|no|off|0)$/.test(value)) cleansFreely = true;
  };
  for (const { key, value } of settingsIn(call.scope.variables)) set(key, value);
  for (; index < call.args.length; index += 1) {
    const word = call.args[index] ?? '';
    const fromVariable = /^--config-env(?:=(.*))?$/s.exec(word);
    if (word === '-c') set(...splitConfig(call.args[(index += 1)] ?? ''));
    else if (fromVariable !== null) {
      const setting = fromVariable[1] ?? call.args[(index += 1)] ?? '';
      const at = setting.lastIndexOf('=');
      set(setting.slice(0, at).toLowerCase(), call.scope.variables.get(setting.slice(at + 1)) ?? UNKNOWN);
    } else if (GLOBAL_VALUED.has(word)) index += 1;
    else if (!word.startsWith('-')) break;
  }
  const word = call.args[index];
  if (word === undefined) return reads;
  // `git ${x}push`: an unknown part is treated as empty.
  const verb = withoutUnknown(word);
  const rest = call.args.slice(index + 1);
  const alias = aliases.get(verb.toLowerCase());
  reportOutputs(verb, rest, call);
  if (cleansFreely && verb === 'clean') return judgeClean(['-f', ...rest]);
  if (alias === undefined) return judgeVerb(verb, rest, call);
  runAlias(call, verb, alias, rest);
  // No alias takes the place of a verb that git has itself.
  const own = judgeVerb(verb, rest, call);
  return READS.has(verb) || OWN_VERBS.has(verb) || own !== acts ? own : null;
};

function runAlias(call: Call, name: string, alias: string, rest: readonly string[]): void {
  const inner = forkScope(call.scope);
  // git does not expand an alias inside itself.
  for (const { key, variable } of settingsIn(inner.variables))
    if (aliasNamed(key) === name.toLowerCase()) inner.variables.delete(variable);
  const text = alias.startsWith('!') ? alias.slice(1) : `git ${alias}`;
  call.inspector.runScript([text, ...rest].join(' '), inner, call.cause);
}

function judgeVerb(verb: string, args: readonly string[], call: Call): Hit | null {
  if (READS.has(verb)) return reads;
  if (hasFlag(args, '', '--help')) return reads;
  const judge = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  return judge === undefined ? judgeForeignVerb(verb, args) : judge(args, call, verb);
}

type JudgeVerb = (args: readonly string[], call: Call, verb: string) => Hit | null;

const judgeForeignHistory: JudgeVerb = ([first = '']) =>
  /^(push|dcommit|submit)$/.test(first) ? hit('git_push', 'git-push') : acts;
const transports: JudgeVerb = (args, call, verb) => judgeTransport(verb, args, call);
const runsCommand: JudgeVerb = (args, call, verb) => judgeRunsCommand(verb, args, call);
const destroysIf = (isGrave: boolean, rule: string): Hit => (isGrave ? destroys(rule) : acts);

const VERBS: Readonly<Record<string, JudgeVerb>> = {
  push: judgePush,
  'send-pack': judgePush,
  'send-email': judgePush,
  reset: (args) =>
    destroysIf(
      args.some((arg) => /^--(ha|har|hard|merge|keep)$/.test(arg)),
      'git-reset-hard',
    ),
  clean: judgeClean,
  checkout: judgeCheckout,
  switch: judgeSwitch,
  restore: judgeRestore,
  branch: judgeBranch,
  tag: judgeTag,
  stash: judgeStash,
  reflog: ([first = '']) => (['expire', 'delete'].includes(first) ? destroys('git-reflog') : reads),
  gc: (args) =>
    destroysIf(
      args.some((arg) => /^--prune(=(now|all|0|.*\.(second|minute)s?).*)?$/.test(arg)),
      'git-gc-prune',
    ),
  prune: (args) => (hasFlag(args, 'n', '--dry-run') ? reads : destroys('git-prune')),
  'filter-branch': () => destroys('git-rewrite-history'),
  'filter-repo': () => destroys('git-rewrite-history'),
  'update-ref': () => destroys('git-update-ref'),
  replace: (args) => (args.length === 0 || hasFlag(args, 'l', '--list') ? reads : destroys('git-update-ref')),
  'symbolic-ref': (args) =>
    destroysIf(hasFlag(args, 'd', '--delete') || (args[0] === 'HEAD' && args.length > 1), 'git-update-ref'),
  'read-tree': (args) => destroysIf(hasFlag(args, 'u', '--reset'), 'git-read-tree'),
  'checkout-index': (args) => destroysIf(hasFlag(args, 'f', '--force'), 'git-checkout'),
  worktree: judgeWorktree,
  submodule: judgeSubmodule,
  rm: judgeGitRm,
  mv: (args, call) => {
    rememberFilled(args.slice(0, -1), args.at(-1) ?? '', call.scope);
    return acts;
  },
  remote: judgeRemote,
  config: judgeGitConfig,
  notes: ([first = '']) => destroysIf(['remove', 'prune'].includes(first), 'git-notes'),
  subtree: judgeForeignHistory,
  svn: judgeForeignHistory,
  p4: judgeForeignHistory,
  fetch: transports,
  pull: transports,
  clone: transports,
  init: transports,
  'fast-import': (args) => destroysIf(hasFlag(args, '', '--force'), 'git-update-ref'),
  lfs: (args) => {
    if (args[0] === 'migrate' && args[1] !== 'info') return destroys('git-rewrite-history');
    if (args[0] === 'prune' && !hasFlag(args, 'd', '--dry-run')) return destroys('git-prune');
    return args[0] === 'push' ? hit('git_push', 'git-push') : acts;
  },
  'ls-remote': () => hit('network', 'network'),
  rebase: runsCommand,
  bisect: runsCommand,
  difftool: runsCommand,
  mergetool: runsCommand,
};

/** Verbs that extensions add: `git flow release delete`, `git delete-branch`, `git town ship`. */
function judgeForeignVerb(verb: string, args: readonly string[]): Hit {
  if (OWN_VERBS.has(verb)) return acts;
  if (/^(publish|submit|ship|sync-push|pushall|force-push)$/.test(verb)) return hit('git_push', 'git-push');
  const isGrave =
    ordersDestruction(verb) ||
    (EXTENSIONS.test(verb) && args.slice(0, 2).some((word) => ordersDestruction(word)));
  return isGrave ? destroys('git-extension') : acts;
}

const EXTENSIONS = /^(flow|town|branchless|absorb|machete|annex|crypt|secret|spice|gtr|extras)$/;
const OWN_VERBS = new Set(
  'add commit merge cherry-pick revert am apply mv init rerere maintenance pack-refs repack sparse-checkout update-index mktree commit-tree write-tree hash-object'.split(
    ' ',
  ),
);

function judgeSubmodule(args: readonly string[], call: Call): Hit | null {
  const at = args.indexOf('foreach');
  if (at >= 0) {
    const words = args
      .slice(at + 1)
      .filter((arg) => arg !== '--recursive' && arg !== '-q' && arg !== '--quiet');
    call.inspector.runScript(words.join(' '), forkScope(call.scope), call.cause);
    return null;
  }
  if (args[0] === 'deinit' && hasFlag(args, 'f', '--force', '--all')) return destroys('git-submodule-deinit');
  if (args[0] === 'update' && hasFlag(args, 'f', '--force')) return destroys('git-submodule-update');
  return args.length === 0 || args[0] === 'status' ? reads : acts;
}

function judgeGitRm(args: readonly string[], call: Call): Hit {
  if (hasFlag(args, '', '--cached') || hasFlag(args, 'n', '--dry-run')) return acts;
  const { operands } = parseOptions(args);
  const found = hitOfDeletes(operands, false, call.scope);
  if (found.actionClass === 'bash_destructive') return destroys('git-rm');
  return hasFlag(args, 'f', '--force') && hasFlag(args, 'r')
    ? destroys('git-rm')
    : hit('file_delete', 'git-rm');
}

function judgeRemote([first = '-v']: readonly string[]): Hit {
  if (/^(-v|--verbose|show|get-url)$/.test(first)) return reads;
  return first === 'remove' || first === 'rm' ? destroys('git-remote-remove') : acts;
}

/** Verbs that run a command: `rebase --exec`, `bisect run`, `difftool -x`. */
function judgeRunsCommand(verb: string, args: readonly string[], call: Call): Hit | null {
  const options = parseOptions(args, ['-x', '--exec', '--extcmd']);
  const texts = [...options.values]
    .filter(([key]) => ['-x', '--exec', '--extcmd'].includes(key))
    .flatMap(([, values]) => values);
  if (verb === 'bisect' && args[0] === 'run') {
    call.inspector.runArgv(args.slice(1), forkScope(call.scope), call.cause);
    return acts;
  }
  for (const text of texts) call.inspector.runScript(text, forkScope(call.scope), call.cause);
  return acts;
}

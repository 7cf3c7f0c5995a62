/** Clients of clouds, clusters and hosted services: verbs that delete remote resources. */
import { hit, type Hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { findDestructiveVerb, ordersDestruction } from './destructive-verbs.ts';
import { isDryRun } from './dry-run.ts';
import { judgeGrant } from './grants.ts';
import { judgeCode } from './inline-code.ts';
import { PUBLISHES } from './publish-verbs.ts';
import { DESTROYS } from './service-verbs.ts';
import { judgeConsole, judgeOptionValues, ordersSql } from './unknown-program.ts';
import { unwrapVerb } from './wrappers.ts';

const HUB_DELETES =
  /^(repo|release|secret|variable|gist|issue|run|cache|label|ssh-key|gpg-key|codespace|ruleset|workflow|extension) (delete|remove|archive|disable)\b|^api\b.*(-X|--method)[ =]?['"]?DELETE\b|^repo (sync\b.*--force|edit\b.*--visibility|rename|transfer)|^auth logout\b|^(pr|mr|issue) \w+\b.*(\s-d\b|--delete-branch\b)/;
const JJ_DESTROYS = /^(abandon|op (abandon|restore)|undo|restore|bookmark (delete|forget))\b/;
const HG_DESTROYS = /^(strip|purge|rollback|histedit|update\b.*(-C|--clean)|revert\b.*(--all|-a))/;
const SVN_DESTROYS = /^(delete|del|rm|revert\b.*(-R|--recursive|--depth)|cleanup\b.*--remove)/;

export const CLOUD_PROGRAMS = [
  ...new Set([...Object.keys(DESTROYS), ...Object.keys(PUBLISHES), 'gh', 'glab', 'hub']),
];

/** Package binaries that yarn and pnpm run without a verb. */
const BINARIES = new Set([
  'rimraf',
  'del-cli',
  'prisma',
  'sequelize',
  'sequelize-cli',
  'typeorm',
  'knex',
  'cdk',
  'vercel',
]);

export const judgeCloud: Handler = (call) => {
  if (unwrapVerb(call) !== null) return null;
  const words = call.args.join(' ');
  const [first, ...rest] = call.args.filter((arg, index) => index > 0 || !arg.startsWith('-'));
  if (/^(yarn|pnpm)$/.test(call.name) && BINARIES.has(first ?? '')) {
    call.inspector.runArgv([first ?? '', ...rest], forkScope(call.scope), call.cause);
    return null;
  }
  if (RUNS_ELSEWHERE.test(call.name)) judgeOptionValues(call);
  if (RUNS_ELSEWHERE.test(call.name) && call.args.includes('--')) runAfterDashes(call);
  if (call.name === 'rails') judgeRunner(call);
  if (call.name === 'mix') judgeOptionValues(call);
  judgeConsole(call);
  if (/^(npm|pnpm|yarn)$/.test(call.name)) {
    runWrittenScripts(call);
    runSetScripts(call);
    if (/\bset script-shell\b/.test(words)) return hit('bash_destructive', 'injected-code');
  }
  if (ordersSql(call)) return hit('bash_destructive', 'database-drop');
  const granted = isDryRun(call.args) ? null : judgeGrant(call.name, bareWords(words), call.stdin);
  if (granted !== null) return granted;
  return judgeService(call.name, words, call.args) ?? judgeScript(call) ?? judgeOrdinary(call.name, words);
};

/** From the first word that is not an option. */
function bareWords(words: string): string {
  return words.replace(/^(-\S+\s+)*/, '');
}

/** Clients that run a command on another machine or in a container. */
const RUNS_ELSEWHERE =
  /^(kubectl|oc|lxc|incus|multipass|fly|flyctl|gcloud|az|aws|heroku|vagrant|limactl|nomad|doctl|cf|railway|render|minikube|k3d|kind|eksctl)$/;

function runAfterDashes(call: Call): void {
  const argv = call.args.slice(call.args.indexOf('--') + 1);
  call.inspector.runArgv(argv, forkScope(call.scope), call.cause, call.stdin);
}

/** The requested script, from a `package.json` that the line itself wrote. */
function runWrittenScripts(call: Call): void {
  const written = call.inspector.files.get('package.json');
  if (written === undefined) return;
  const words = call.args.filter((arg) => !arg.startsWith('-'));
  const asked = /^run(-script)?$/.test(words[0] ?? '') ? words[1] : words[0];
  const names = /^(i|install|ci|add)?$/.test(asked ?? '') ? LIFECYCLE : [asked];
  for (const [, name, text = ''] of written.matchAll(/"([\w:.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)) {
    if (!names.includes(name)) continue;
    call.inspector.runScript(text.replace(/\\"/g, '"'), forkScope(call.scope), call.cause);
  }
}

/** `npm pkg set scripts.postinstall='…'`: what the next install will run. */
function runSetScripts(call: Call): void {
  if (!/^pkg set\b/.test(call.args.join(' '))) return;
  for (const word of call.args) {
    const text = /^scripts\.[\w:.-]+=(.+)$/s.exec(word)?.[1];
    if (text === undefined) continue;
    const found = call.inspector.collect(() =>
      call.inspector.runScript(text, forkScope(call.scope), call.cause),
    );
    for (const one of found) if (one.actionClass !== 'file_delete') call.inspector.report(one, call.cause);
  }
}

const LIFECYCLE: readonly (string | undefined)[] = ['preinstall', 'install', 'postinstall', 'prepare'];

/** `rails runner CODE`, `… | rails console`. */
function judgeRunner(call: Call): void {
  const [verb, ...rest] = call.args;
  if (/^(runner|r)$/.test(verb ?? ''))
    for (const code of rest.filter((word) => !word.startsWith('-'))) judgeCode(code, call);
  if (/^(console|c|dbconsole|db|runner|r)$/.test(verb ?? '') && call.stdin !== undefined)
    judgeCode(call.stdin, call);
}

/** A verb that destroys in any tool, or a script of the package that is named for it. */
function judgeScript({ name, args }: Call): Hit | null {
  if (isDryRun(args) || /^(gh|glab|hub)$/.test(name)) return null;
  const isRunner = /^(npm|pnpm|yarn)$/.test(name);
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (isRunner) {
    const script = words[0] === 'run' || words[0] === 'run-script' ? words[1] : words[0];
    return script !== undefined && /[:.-]|^run/.test(`${words[0]} ${script}`) && ordersDestruction(script)
      ? hit('bash_destructive', 'destructive-target')
      : null;
  }
  return findDestructiveVerb(name, args) === null ? null : hit('bash_destructive', 'destructive-verb');
}

const ASKS_CLUSTER = /^(-\S+\s+)*(auth|wait|explain|get|describe|logs|top|api-resources)\s/;

function judgeService(name: string, words: string, args: readonly string[]): Hit | null {
  if (/^(kubectl|oc)$/.test(name) && ASKS_CLUSTER.test(words)) return null;
  if (isDryRun(args) || /(^|\s)(--help|help|explain|plan)\b/.test(words.split(' ').slice(0, 2).join(' ')))
    return null;
  const destroys = Object.hasOwn(DESTROYS, name) ? DESTROYS[name] : undefined;
  // Anchors mean the first word that is not an option.
  const bare = bareWords(words);
  const bareOfValues = words.replace(/^(-\S+(\s+[^-\s]\S*)?\s+)*/, '');
  if (destroys !== undefined && [bare, bareOfValues, words].some((text) => destroys.test(text))) {
    return name === 'trash' || name === 'trash-put'
      ? hit('file_delete', 'delete-file')
      : hit('bash_destructive', 'service-delete');
  }
  if (Object.hasOwn(PUBLISHES, name) && PUBLISHES[name]?.test(bare)) return hit('git_push', 'publish');
  if (name === 'gh' || name === 'glab' || name === 'hub') return judgeHub(bare);
  if (name === 'hg' && HG_DESTROYS.test(bare)) return hit('git_destructive', 'hg-destructive');
  if (name === 'jj' && JJ_DESTROYS.test(bare)) return hit('git_destructive', 'jj-destructive');
  if (name === 'svn' && SVN_DESTROYS.test(bare)) return hit('git_destructive', 'svn-destructive');
  return null;
}

function judgeHub(words: string): Hit | null {
  if (HUB_DELETES.test(words) || /^delete\b/.test(words)) return hit('git_destructive', 'hub-delete');
  if (/^(pr|mr) merge\b|^release create\b|^repo (create|fork)\b.*--push\b|^push\b/.test(words))
    return hit('git_push', 'hub-merge');
  return hit('network', 'network');
}

function judgeOrdinary(name: string, words: string): Hit {
  if (
    /^(--version|-v|version|help|--help|-h|list|ls|view|info|outdated|why|audit|root|bin|prefix|search|status|get|describe|logs|show|plan|output|validate|config view|cluster-info|top|explain)\b/.test(
      words,
    )
  ) {
    return hit(/^(npm|cargo|gem|terraform|tofu)$/.test(name) ? 'file_read' : 'bash_exec', 'service-read');
  }
  return hit('bash_exec', 'service');
}

/** Clients of clouds, clusters and hosted services: verbs that delete what lives there. */
import { hit, type Hit } from '../finding.ts';
import type { Handler } from '../inspector.ts';
import { forkScope } from '../shell-scope.ts';
import { isDryRun } from './deletions.ts';
import { unwrapVerb } from './wrappers.ts';

/** Per program: a pattern over its words (options included) that destroys something. */
const DESTROYS: Record<string, RegExp> = {
  kubectl: /\b(delete|drain)\b|\breplace\b.*--force\b|\bscale\b.*--replicas[= ]0\b|\bapply\b.*--prune\b/,
  oc: /\bdelete\b|\badm drain\b/,
  k3d: /\bdelete\b/,
  kind: /\bdelete\b/,
  minikube: /^delete\b/,
  helm: /^(uninstall|delete|del|un)\b/,
  helmfile: /\b(destroy|delete)\b/,
  kustomize: /^$/,
  terraform:
    /(^|\s)(destroy|force-unlock|taint)\b|-destroy\b|\bstate (rm|push|mv)\b|\bworkspace delete\b|\bapply\b.*-auto-approve\b/,
  tofu: /(^|\s)(destroy|force-unlock|taint)\b|-destroy\b|\bstate (rm|push|mv)\b|\bworkspace delete\b|\bapply\b.*-auto-approve\b/,
  terragrunt: /\bdestroy(-all)?\b|\brun-all destroy\b|\bapply(-all)?\b.*-auto-approve\b/,
  pulumi: /^destroy\b|\bstack rm\b|\bstate delete\b|\bup\b.*(--yes|-y)\b/,
  cdk: /^destroy\b/,
  sam: /^delete\b/,
  sls: /^remove\b/,
  serverless: /^remove\b/,
  eksctl: /^delete\b/,
  aws: /\s(delete|terminate|remove|deregister|purge|schedule-key-deletion|release-address|revoke|disable|cancel|batch-delete|detach)(-|\b)|\bs3 (rm|rb)\b|\bs3 sync\b.*--delete\b|\bs3 mv\b.*--recursive\b|\bs3api (delete|put-bucket-lifecycle)/,
  gcloud: /\b(delete|destroy|remove-iam-policy-binding|purge|reset)\b|\bstorage rm\b/,
  gsutil: /(^|\s)(rm|rb)\b|\brsync\b.*\s-d\b/,
  az: /\b(delete|purge|remove|deallocate)\b|\bdelete-batch\b/,
  doctl: /\b(delete|destroy|rm|d)\b/,
  'linode-cli': /\b(delete|rm|rebuild)\b/,
  hcloud: /\bdelete\b/,
  oci: /\b(delete|terminate|bulk-delete)\b/,
  ibmcloud: /\b(delete|rm)\b/,
  s3cmd: /^(del|rb|rm|expire)\b|\bsync\b.*--delete-removed\b/,
  mc: /^(rm|rb)\b|\bmirror\b.*--remove\b/,
  heroku:
    /\b(pg:reset|apps:destroy|apps:delete|addons:destroy|domains:remove|destroy|pg:credentials:destroy|repo:reset)\b/,
  fly: /\b(destroy|delete)\b|\bapps destroy\b/,
  flyctl: /\b(destroy|delete)\b/,
  vercel: /^(remove|rm)\b|\benv rm\b|\bdomains rm\b|\bproject rm\b/,
  netlify: /\b(sites:delete|env:unset)\b/,
  firebase:
    /\b(firestore:delete|database:remove|functions:delete|hosting:disable|projects:delete|hosting:sites:delete)\b/,
  wrangler: /\bdelete\b|\bd1 execute\b.*\b(drop|truncate)\b/i,
  supabase: /\bdb reset\b|\b(projects|branches|functions) delete\b/,
  railway: /^(down|delete)\b/,
  vault: /\b(delete|destroy)\b|\bsecrets disable\b|\bmetadata delete\b|\boperator (seal|rekey)\b/,
  nomad: /\bstop\b.*-purge\b|\bsystem gc\b|\bnamespace delete\b/,
  vagrant: /^destroy\b/,
  multipass: /^(delete|purge)\b/,
  virsh: /\b(destroy|undefine|vol-delete|pool-delete)\b/,
  VBoxManage: /\bunregistervm\b.*--delete\b|\bclosemedium\b.*--delete\b/,
  lxc: /^(delete|rm)\b/,
  incus: /^(delete|rm)\b/,
  qm: /^destroy\b/,
  velero: /\bdelete\b/,
  restic: /^(forget|prune)\b/,
  borg: /^(delete|prune)\b/,
  argocd: /\bdelete\b/,
  flux: /^(delete|uninstall)\b/,
  istioctl: /\b(uninstall|x uninstall)\b/,
  'kafka-topics': /--delete\b/,
  'kafka-topics.sh': /--delete\b/,
  rabbitmqctl: /\b(reset|force_reset|delete_\w+|purge_queue)\b/,
  rabbitmqadmin: /\b(delete|purge)\b/,
  'ansible-vault': /^$/,
  gpg: /--delete-/,
  trash: /./,
  'trash-put': /./,
  'trash-empty': /.|^$/,
  gio: /^trash\b|^remove\b/,
  npm: /^(unpublish|deprecate)\b|\b(team|org|owner|access|dist-tag) (destroy|rm|remove)\b/,
  cargo: /^(yank)\b/,
  gem: /^(yank)\b/,
  prisma: /\bmigrate reset\b|--force-reset\b|--accept-data-loss\b/,
  sequelize: /\bdb:drop\b|\bmigrate:undo:all\b/,
  'sequelize-cli': /\bdb:drop\b|\bmigrate:undo:all\b/,
  typeorm: /\bschema:drop\b/,
  knex: /\bmigrate:rollback\b.*--all\b/,
  'drizzle-kit': /^drop\b/,
  diesel: /\bdatabase (reset|drop)\b/,
  sqlx: /\bdatabase (drop|reset)\b/,
  alembic: /\bdowngrade base\b/,
  flask: /\bdb downgrade base\b/,
  rails: /\bdb:(drop|reset|purge|schema:load|migrate:reset|truncate_all)\b|^destroy\b/,
  rake: /\bdb:(drop|reset|purge|migrate:reset|truncate_all)\b/,
  mix: /\becto\.(drop|reset)\b/,
  'django-admin': /\b(flush|reset_db)\b/,
  symfony: /\bdoctrine:(database|schema):drop\b/,
  wp: /\bdb (reset|drop|clean)\b|\bsite (empty|delete)\b/,
  drush: /\bsql[:-]drop\b|\bsite[:-]install\b/,
};

/** Sending out for good what others then use. */
const PUBLISHES: Record<string, RegExp> = {
  npm: /^publish\b/,
  pnpm: /^publish\b/,
  yarn: /^(publish|npm publish)\b/,
  cargo: /^publish\b/,
  gem: /^push\b/,
  twine: /^upload\b/,
  poetry: /^publish\b/,
  uv: /^publish\b/,
  vsce: /^publish\b/,
  hg: /^push\b/,
  jj: /^git push\b/,
  svn: /^(commit|ci)\b/,
};

const HUB_DELETES =
  /^(repo|release|secret|variable|gist|issue|run|cache|label|ssh-key|gpg-key|codespace|ruleset|workflow|extension) (delete|remove|archive|disable)\b|^api\b.*(-X|--method)[ =]?['"]?DELETE\b|^repo (sync\b.*--force|edit\b.*--visibility|rename|transfer)|^auth (logout|token)\b/;
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
  return judgeService(call.name, words, call.args) ?? judgeOrdinary(call.name, words);
};

function judgeService(name: string, words: string, args: readonly string[]): Hit | null {
  if (isDryRun(args) || /(^|\s)(--help|help|explain|plan)\b/.test(words.split(' ').slice(0, 2).join(' ')))
    return null;
  const destroys = Object.hasOwn(DESTROYS, name) ? DESTROYS[name] : undefined;
  // Anchors mean the first word that is not an option.
  const bare = words.replace(/^(-\S+\s+)*/, '');
  const bareOfValues = words.replace(/^(-\S+(\s+[^-\s]\S*)?\s+)*/, '');
  if (destroys !== undefined && [bare, bareOfValues, words].some((text) => destroys.test(text))) {
    return name === 'trash' || name === 'trash-put'
      ? hit('file_delete', 'delete-file')
      : hit('bash_destructive', 'service-delete');
  }
  if (Object.hasOwn(PUBLISHES, name) && PUBLISHES[name]?.test(bare)) return hit('git_push', 'publish');
  if (name === 'gh' || name === 'glab' || name === 'hub') return judgeHub(bare);
  if (name === 'hg' && HG_DESTROYS.test(bare)) return hit('git_destructive', 'hg-destructive');
  if (name === 'svn' && SVN_DESTROYS.test(bare)) return hit('git_destructive', 'svn-destructive');
  return null;
}

function judgeHub(words: string): Hit | null {
  if (HUB_DELETES.test(words)) return hit('git_destructive', 'hub-delete');
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

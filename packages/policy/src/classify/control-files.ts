/**
 * Control files steer something that acts outside the run. Writing one is a way out of the policy, so it is
 * system_modify in every folder. Those of a project are in the table of risky paths; this list adds those of
 * a person or a machine. Files that a person is asked about when they leave a run (CI files, for example) are
 * project content, and may be written.
 */
import { findRisk } from '@caisson/protocol';

const OUTSIDE_PROJECTS: readonly RegExp[] = [
  /(^|\/)(\.gitconfig|\.config\/git\/.+)$/,
  /(^|\/)\.claude\/\.credentials\.json$|(^|\/)\.claude\.json$/,
  /(^|\/)\.(gemini|aider)(\/|$)/,
  /(^|\/)\.config\/(opencode|codex|gemini|goose|caisson|fish|autostart|systemd|environment\.d)(\/|$)/,
  /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|xprofile|xinitrc|xsessionrc|pam_environment|inputrc|netrc|pgpass|bash_history|zsh_history)$/,
  /(^|\/)\.(ssh|gnupg|aws|kube|docker)(\/|$)/,
  /(^|\/)Library\/Launch(Agents|Daemons)(\/|$)/,
  /^(~|\/home\/[^/]+|\/root)\/\.(npmrc|pypirc|yarnrc)$/,
];
/** Of a git dir only these steer git; the rest is a repository's data. */
const GIT_CONTROLS = /(^|\/)\.git\/(hooks|config|config\.worktree|info|modules\/.*(hooks|config))(\/|$)/;
const OWN_STATE = /(^|\/)\.caisson(\/|$)/;
/** What an agent is meant to write into its mailbox. */
const MAILBOX = /(^|\/)\.caisson\/(needs_input\.json|handoff\.json)(\.tmp)?$/;

/** Whether this is a message an agent leaves for the host: writable in every mode. */
export function isMailboxFile(path: string): boolean {
  return MAILBOX.test(path);
}

export function isControlFile(path: string): boolean {
  const lower = path.toLowerCase();
  if (OWN_STATE.test(lower)) return !isMailboxFile(lower);
  if (OUTSIDE_PROJECTS.some((pattern) => pattern.test(path) || pattern.test(lower))) return true;
  const entry = findRisk(path);
  if (entry?.path === '.git') return GIT_CONTROLS.test(lower);
  return entry?.grade === 'never';
}

/** Files whose content is a credential: reading one and then sending something counts as sending it. */
export function isCredentialFile(path: string): boolean {
  return /(^|\/)\.(ssh|aws|gnupg|kube|config\/gcloud|azure)\/?$|(^|\/)(\.ssh\/(?!known_hosts|config|.*\.pub$)|\.aws\/credentials|\.netrc|\.pgpass|\.gnupg\/|\.kube\/config|\.docker\/config\.json|id_(rsa|ed25519|ecdsa)$|\.git-credentials|\.npmrc|\.pypirc|\.config\/gh\/hosts\.yml$|\.config\/(gcloud|glab-cli|doctl|hub)\/.*(credentials|\.json$|\.db$|config\.ya?ml$)|\.azure\/.*(token|\.json$)|\.terraform\.d\/credentials|\.cargo\/credentials|\.gem\/credentials|\.composer\/auth\.json|\.password-store\/|\.local\/share\/keyrings|\.claude\/\.credentials|\.codex\/auth\.json|\.vault-token$)|^\/etc\/shadow$|^(\/var)?\/run\/secrets\//.test(
    path,
  );
}

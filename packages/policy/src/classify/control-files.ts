/**
 * Control files steer something that acts outside the run. Writing one is a way out of the policy, so it is
 * system_modify in every folder. Those of a project are in the table of risky paths; this list adds those of a person
 * or a machine. Files that a person is asked about when they leave a run (CI files, for example) are project content,
 * and may be written.
 */
import { findRisk, GIT_DIR_CONTROLS } from '@caisson/protocol';

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
const GIT_CONTROLS = new RegExp(String.raw`(^|/)\.git/(${namesOf(true)}/(.*/)?)?(${namesOf(false)})(/|$)`);
const OWN_STATE = /(^|\/)\.caisson(\/|$)/;
/** What an agent is meant to write into its mailbox. */
const MAILBOX = /(^|\/)\.caisson\/(needs_input\.json|handoff\.json)(\.tmp)?$/;

function namesOf(holdsGitDirs: boolean): string {
  return GIT_DIR_CONTROLS.filter((control) => (control.holdsGitDirs === true) === holdsGitDirs)
    .map(({ name }) => name.replaceAll('.', String.raw`\.`))
    .join('|');
}

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

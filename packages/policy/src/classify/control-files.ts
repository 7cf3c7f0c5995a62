/**
 * Control files steer something that acts outside the run: git's hooks and config, an agent's
 * settings, shell start-up files, keys, our own state. Writing one is a way out of the policy,
 * so it is system_modify wherever the file lies. CI files are project content, not control files.
 */
const CONTROL: readonly RegExp[] = [
  /(^|\/)\.git\/(hooks|config|config\.worktree|info|modules\/.*(hooks|config))(\/|$)/,
  /(^|\/)(\.gitconfig|\.config\/git\/.+)$/,
  /(^|\/)\.claude\/(settings[^/]*|hooks(\/.*)?|\.credentials\.json)$|(^|\/)\.claude\.json$/,
  /(^|\/)\.(codex|gemini|opencode|pi|aider)(\/|$)/,
  /(^|\/)\.config\/(opencode|codex|gemini|goose|caisson|fish|autostart|systemd|environment\.d)(\/|$)/,
  /(^|\/)(opencode\.jsonc?|\.mcp\.json|\.cursor\/mcp\.json|\.vscode\/mcp\.json)$/,
  /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|xprofile|xinitrc|xsessionrc|pam_environment|inputrc|envrc|netrc|pgpass|bash_history|zsh_history)$/,
  /(^|\/)\.(ssh|gnupg|aws|kube|docker)(\/|$)/,
  /(^|\/)Library\/Launch(Agents|Daemons)(\/|$)/,
  /^(~|\/home\/[^/]+|\/root)\/\.(npmrc|pypirc|yarnrc)$/,
  /(^|\/)caisson\.ya?ml$/,
];
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
  return CONTROL.some((pattern) => pattern.test(path) || pattern.test(lower));
}

/** Files whose content is a credential: reading one and sending something is taken together. */
export function isCredentialFile(path: string): boolean {
  return /(^|\/)\.(ssh|aws|gnupg|kube|config\/gcloud|azure)\/?$|(^|\/)(\.ssh\/(?!known_hosts|config|.*\.pub$)|\.aws\/credentials|\.netrc|\.pgpass|\.gnupg\/|\.kube\/config|\.docker\/config\.json|id_(rsa|ed25519|ecdsa)$|\.git-credentials|\.npmrc|\.pypirc|\.config\/gh\/hosts\.yml$|\.config\/(gcloud|glab-cli|doctl|hub)\/.*(credentials|\.json$|\.db$|config\.ya?ml$)|\.azure\/.*(token|\.json$)|\.terraform\.d\/credentials|\.cargo\/credentials|\.gem\/credentials|\.composer\/auth\.json|\.password-store\/|\.local\/share\/keyrings|\.claude\/\.credentials|\.codex\/auth\.json|\.vault-token$)|^\/etc\/shadow$|^(\/var)?\/run\/secrets\//.test(
    path,
  );
}

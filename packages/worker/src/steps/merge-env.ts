/**
 * Step 8: the environment of everything that runs in the sandbox. Default deny: only what the host put into the job can
 * pass, and nothing passes that could change how a program is loaded or controlled. Safety settings are not passed this
 * way; only the grant in the job counts.
 */
import type { Job } from '@caisson/protocol';

const HARD_DENIED = new Set([
  'BASH_ENV',
  'ENV',
  'IFS',
  'PROMPT_COMMAND',
  'PS4',
  'ZDOTDIR',
  'GCONV_PATH',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
  'LESSOPEN',
  'LESSCLOSE',
  'LUA_INIT',
  'VIMINIT',
  'DOTNET_STARTUP_HOOKS',
  'SHELLOPTS',
  'BASHOPTS',
  'CDPATH',
  'GLOBIGNORE',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'PYTHONSTARTUP',
  'PYTHONINSPECT',
  'PYTHONBREAKPOINT',
  'PYTHONHOME',
  'PERL5OPT',
  'PERL5LIB',
  'PERL5DB',
  'RUBYOPT',
  'RUBYLIB',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  '_JAVA_OPTIONS',
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'GPG_AGENT_INFO',
  'DBUS_SESSION_BUS_ADDRESS',
  'DOCKER_HOST',
  'XDG_RUNTIME_DIR',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'CLAUDECODE',
  'HOME',
  'TMPDIR',
  'PWD',
  'OLDPWD',
]);
const HARD_DENIED_PREFIXES = ['LD_', 'DYLD_', 'GIT_', 'CAISSON_', 'CLAUDE_CODE_', 'BASH_FUNC_', 'CORECLR_'];
const NPM_SETTING = /^npm_config_/i; // npm reads its own in any spelling
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

export interface MergedEnv {
  readonly env: Record<string, string>;
  /** Names that were set and that the firewall removed. */
  readonly denied: readonly string[];
}

/** Base < bundles in order < per run. */
export function mergeEnv(job: Pick<Job, 'env' | 'secrets'>): MergedEnv {
  const merged: Record<string, string> = { ...job.env.base };
  for (const bundle of job.env.bundles) Object.assign(merged, bundle.values);
  Object.assign(merged, job.env.run);
  for (const secret of job.secrets) if (secret.env !== undefined) merged[secret.env] = secret.value;
  const names = Object.keys(merged);
  const denied = names.filter((name) => !isPassable(name));
  for (const name of denied) delete merged[name];
  return { env: merged, denied: denied.toSorted() };
}

/** Whether a variable of this name may reach the sandbox. */
export function isPassable(name: string): boolean {
  if (!NAME.test(name) || HARD_DENIED.has(name)) return false;
  if (NPM_SETTING.test(name)) return false;
  return !HARD_DENIED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

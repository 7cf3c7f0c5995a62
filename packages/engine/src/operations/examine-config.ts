/** The configuration as a finding of the doctor, which must continue also if it cannot be used. */
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import {
  ConfigError,
  describeMisnamedConfig,
  describeUnknownVariable,
  envNameOf,
  findUnknownVariables,
  getCurrentFolder,
  ProjectRefusedError,
  readHostEnvironment,
  type LoadConfigOptions,
  type ResolvedConfig,
} from '../config/index.ts';
import { loadConfig } from '../composition/trusted-config.ts';
import type { ProbeReport } from '../discovery/index.ts';

export interface ExaminedConfig {
  readonly report: ProbeReport;
  /**
   * The effective configuration. What cannot or must not be used is left out and is in `unread`: a file, or, because of a
   * variable, all variables.
   */
  readonly config: ResolvedConfig;
  /** False where what is left out may name another state folder than `config`. */
  readonly isStateKnown: boolean;
}

const ID = 'config';

type Environment = NonNullable<LoadConfigOptions['env']>;

/** Never throws for a wrong file or variable: that is its finding. */
export async function examineConfig(options: LoadConfigOptions = {}): Promise<ExaminedConfig> {
  const env = options.env ?? readHostEnvironment();
  try {
    const config = await loadConfig({ ...options, env });
    const report = reportUsable(config, env, options.cwd ?? getCurrentFolder());
    return { config, isStateKnown: true, report };
  } catch (error) {
    if (!isFinding(error)) throw error;
    const rest = await loadRest({ ...options, env }, error);
    const remedy = `${error.remedy ?? ''} The other findings are without it.`.trim();
    const detail = error instanceof ConfigError ? error.lines.join('; ') : error.message;
    return { ...rest, report: { id: ID, verdict: 'fail', detail, remedy } };
  }
}

type Finding = ConfigError | ProjectRefusedError;

function isFinding(error: unknown): error is Finding {
  return error instanceof ConfigError || error instanceof ProjectRefusedError;
}

/** As much as can be used: without the file that is not valid; else without variables, too; else with neither. */
async function loadRest(
  options: LoadConfigOptions & { readonly env: Environment },
  error: Finding,
): Promise<Omit<ExaminedConfig, 'report'>> {
  const { env, flags } = options;
  const bare = bareEnvironment(env);
  const isNamed = (flags?.state ?? '') !== '';
  const tries = [
    { ...options, startsNothing: true, isStateKnown: true },
    {
      ...options,
      startsNothing: true,
      env: bare,
      isStateKnown: isNamed || (env[envNameOf('state')] ?? '') === '',
    },
  ];
  for (const { isStateKnown, ...how } of tries) {
    try {
      return { config: withUnread(await loadConfig(how), error), isStateKnown };
    } catch (again) {
      if (!isFinding(again)) throw again;
    }
  }
  const config = await loadConfig({ ...options, env: bare, ignoresFile: true });
  return { config: withUnread(config, error), isStateKnown: isNamed || error instanceof ProjectRefusedError };
}

function withUnread(config: ResolvedConfig, error: Finding): ResolvedConfig {
  if (config.unread !== undefined) return config;
  const known =
    error instanceof ConfigError
      ? error
      : new ConfigError([{ file: error.path, message: error.message }], { cause: error });
  return { ...config, unread: [known] };
}

function reportUsable(config: ResolvedConfig, env: Environment, cwd: string): ProbeReport {
  const misnamed = describeMisnamedConfig(config.projectRoot, cwd);
  const ignored = [
    ...(misnamed === null ? [] : [misnamed]),
    ...findUnknownVariables(env).map(describeUnknownVariable),
  ];
  const files = [config.file, config.userFile].filter((file) => file !== null);
  const usable = files.length === 0 ? 'no caisson.yaml; defaults apply' : `${files.join(' and ')} valid`;
  const isTrustMissing = config.trust.kind === 'required';
  const missing = isTrustMissing
    ? ['what the project asks for has no effect, and runs are refused, until you agree']
    : [];
  const detail = [usable, ...missing, ...(ignored.length === 0 ? [] : [ignored.join(' ')])].join('; ');
  if (!isTrustMissing && ignored.length === 0) return { id: ID, verdict: 'ok', detail };
  const remedy = isTrustMissing ? 'caisson trust shows it.' : 'Rename, unset or remove what is not intended.';
  return { id: ID, verdict: 'warn', detail, remedy };
}

function bareEnvironment(env: Environment): Record<string, string> {
  const home = [env['HOME'], homedir()].find((folder) => folder !== undefined && isAbsolute(folder));
  return { HOME: home ?? '/' };
}

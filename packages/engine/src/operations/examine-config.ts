/** The configuration as a finding of the doctor, which must continue also if it cannot be used. */
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import {
  ConfigError,
  describeMisnamedConfig,
  describeUnknownVariable,
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
  /** The effective configuration; if it cannot or must not be used, the one without file and variables. */
  readonly config: ResolvedConfig;
}

const ID = 'config';

/** Never throws for a wrong file or variable: that is its finding. */
export async function examineConfig(options: LoadConfigOptions = {}): Promise<ExaminedConfig> {
  const env = options.env ?? readHostEnvironment();
  try {
    const config = await loadConfig({ ...options, env });
    return { config, report: reportUsable(config, env, options.cwd ?? getCurrentFolder()) };
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ProjectRefusedError)) throw error;
    const config = await loadConfig({ ...options, env: bareEnvironment(env), ignoresFile: true });
    const remedy = `${error.remedy ?? ''} The other findings are without it.`.trim();
    const detail = error instanceof ConfigError ? error.lines.join('; ') : error.message;
    return { config, report: { id: ID, verdict: 'fail', detail, remedy } };
  }
}

function reportUsable(
  config: ResolvedConfig,
  env: NonNullable<LoadConfigOptions['env']>,
  cwd: string,
): ProbeReport {
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

function bareEnvironment(env: NonNullable<LoadConfigOptions['env']>): Record<string, string> {
  const home = [env['HOME'], homedir()].find((folder) => folder !== undefined && isAbsolute(folder));
  return { HOME: home ?? '/' };
}

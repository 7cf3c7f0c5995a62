import { ConfigFile, explainConfigIssues } from '@caisson/protocol';
import type { ConfigDocument } from './config-document.ts';
import type { ConfigRow, ConfigSource, LoadConfigOptions } from './contract.ts';
import { ConfigError } from './errors.ts';
import { describeIssue, suggestValue, valueAt } from './parse-config.ts';
import { envNameOf, SETTING_DEFAULTS, SETTING_KEYS, type SettingKey, type SettingValue } from './settings.ts';

export interface Setting extends ConfigRow {
  readonly key: SettingKey;
  readonly value: SettingValue;
}

export type Settings = ReadonlyMap<SettingKey, Setting>;

/** One file that holds settings, as far as it has an effect. */
export interface Layer {
  readonly source: 'file' | 'user';
  readonly file: ConfigFile;
  readonly document: ConfigDocument;
}

type Given = Required<Pick<LoadConfigOptions, 'flags' | 'env'>>;

/** Reads flag, environment, the layers and the default, in this order, for every single-valued setting. */
export async function gatherSettings(options: Given, layers: readonly Layer[]): Promise<Settings> {
  const settings = new Map<SettingKey, Setting>();
  for (const key of SETTING_KEYS) settings.set(key, await resolveSetting(key, options, layers));
  return settings;
}

async function resolveSetting(key: SettingKey, options: Given, layers: readonly Layer[]): Promise<Setting> {
  const flag = options.flags[key];
  if (flag !== undefined) return await parseGiven(key, flag, 'flag', flagNameOf(key));
  // An empty variable is unset: shells and CI systems cannot always remove one.
  const variable = options.env[envNameOf(key)];
  if (variable !== undefined && variable !== '')
    return await parseGiven(key, variable, 'env', envNameOf(key));
  const path = key.split('.');
  for (const { source, file, document } of layers) {
    const value = valueAt(file, path) as SettingValue | undefined;
    if (value !== undefined)
      return { key, value, source, from: document.file, line: document.locate(path).line };
  }
  return { key, value: SETTING_DEFAULTS[key], source: 'default' };
}

/** Reads a flag or variable with the same schema as the file. A text may be a number or a boolean. */
async function parseGiven(
  key: SettingKey,
  given: string | number | boolean,
  source: ConfigSource,
  from: string,
): Promise<Setting> {
  for (const candidate of readings(given)) {
    const parsed = ConfigFile.safeParse(nest(key, candidate));
    if (parsed.success)
      return { key, value: valueAt(parsed.data, key.split('.')) as SettingValue, source, from };
  }
  const issue = (await explainConfigIssues(nest(key, readings(given).at(-1)))).at(0);
  const suggestion = issue === undefined ? null : suggestValue(issue, given);
  throw new ConfigError([
    {
      file: from,
      message: `"${given}" is not a value for ${key}: ${issue === undefined ? 'refused.' : describeIssue(issue, given)}`,
      ...(suggestion === null ? {} : { suggestion }),
    },
  ]);
}

function readings(given: string | number | boolean): unknown[] {
  if (typeof given !== 'string') return [given];
  if (/^-?\d+(\.\d+)?$/.test(given.trim())) return [given, Number(given)];
  return given === 'true' || given === 'false' ? [given, given === 'true'] : [given];
}

function nest(key: SettingKey, value: unknown): unknown {
  return key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
}

/** `limits.stallTimeout` → `--stall-timeout`: the last word, as the commands spell it. */
function flagNameOf(key: SettingKey): string {
  if (key === 'state') return '--state-dir';
  const word = key.slice(key.lastIndexOf('.') + 1);
  return `--${word.replaceAll(/([A-Z])/g, '-$1').toLowerCase()}`;
}

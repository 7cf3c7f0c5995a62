import { findNearest } from '@caisson/protocol';
import { envNameOf, SETTING_KEYS } from './settings.ts';

/** A variable that looks like a setting but is not one. */
export interface UnknownVariable {
  readonly name: string;
  /** The variable that was probably intended. */
  readonly nearest: string | null;
}

const PREFIX = 'CAISSON_';

/**
 * Variables that were probably intended as settings: close to the name of one, or in a group of settings. Other
 * variables that begin with CAISSON_ may be the user's own (`apiKey: env:CAISSON_KEY`), and those that a worker gives
 * its agent are ours.
 */
export function findUnknownVariables(env: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  const given = Object.keys(env).filter((name) => name.startsWith(PREFIX) && (env[name] ?? '') !== '');
  if (given.length === 0) return [];
  const settings = SETTING_KEYS.map((key) => envNameOf(key).slice(PREFIX.length));
  const groups = new Set(SETTING_KEYS.filter((key) => key.includes('.')).map(groupOf));
  return given
    .map((name) => name.slice(PREFIX.length))
    .filter((word) => !settings.includes(word) && !OURS.test(word))
    .map((word) => ({ word, nearest: findNearest(word, settings) }))
    .filter(({ word, nearest }) => nearest !== null || [...groups].some((group) => word.startsWith(group)))
    .map(({ word, nearest }) => ({
      name: PREFIX + word,
      nearest: nearest === null ? null : PREFIX + nearest,
    }));
}

/** One sentence for a person. */
export function describeUnknownVariable({ name, nearest }: UnknownVariable): string {
  const hint = nearest === null ? 'caisson config lists the settings.' : `Did you mean ${nearest}?`;
  return `${name} is no setting and is ignored. ${hint}`;
}

/** What Caisson itself sets or reads beside the settings. */
const OURS =
  /^(DEBUG|TRUST|NO_DAEMON|NO_APT|HEARTBEAT_MS|SPARE|RUN_ID|ATTEMPT|SAFETY|PARENT_PID|JOB_FILE|BOARD_FILE|CONTEXT_FILE|MODEL_KEY|SERVICE_.*)$/;

function groupOf(key: string): string {
  return `${key.slice(0, key.indexOf('.')).toUpperCase()}_`;
}

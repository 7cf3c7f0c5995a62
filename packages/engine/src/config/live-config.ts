import { isDeepStrictEqual } from 'node:util';
import type { ConfigChange, ConfigRow, LoadConfigOptions, ResolvedConfig } from './contract.ts';
import { explainConfig } from './load-config.ts';

/** The configuration of a long-lived host. */
export interface LiveConfig {
  readonly current: ResolvedConfig;
  /**
   * Reads every source again. A file that has become invalid throws `ConfigError` and leaves `current` as it was, and so
   * does what `accept` throws: the next reload is compared with the same `current`.
   */
  reload(accept?: (next: ResolvedConfig) => Promise<void>): Promise<readonly ConfigChange[]>;
  /** What differs now from when it was opened. */
  changedSinceOpened(): readonly ConfigChange[];
}

/** Loads the configuration and keeps it; `onChange` gets each setting that differs after a reload. */
export async function createLiveConfig(
  options: LoadConfigOptions,
  onChange: (change: ConfigChange) => void,
): Promise<LiveConfig> {
  const opened = await explainConfig(options);
  let loaded = opened;
  return {
    get current() {
      return loaded.config;
    },
    async reload(accept) {
      const next = await explainConfig(options);
      await accept?.(next.config);
      const changes = compareRows(loaded.rows, next.rows);
      loaded = next;
      for (const change of changes) onChange(change);
      return changes;
    },
    changedSinceOpened: () => compareRows(opened.rows, loaded.rows),
  };
}

function compareRows(previous: readonly ConfigRow[], next: readonly ConfigRow[]): ConfigChange[] {
  const before = new Map(previous.map((row) => [row.key, row.value]));
  const after = new Map(next.map((row) => [row.key, row.value]));
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys
    .filter((key) => !isDeepStrictEqual(before.get(key), after.get(key)))
    .map((key) => ({ key, previous: before.get(key) ?? null, new: after.get(key) ?? null }));
}

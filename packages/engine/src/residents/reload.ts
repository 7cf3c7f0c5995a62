/**
 * Makes what is configured, and what its files are, what runs. Only keys that changed are touched. Reloads are made one after
 * another; those that are asked for meanwhile become one.
 */
import { compilePattern } from '@caisson/policy';
import { dirname, resolve } from 'node:path';
import type { ResidentSettings, WorkerRuntime } from './contract.ts';
import { findBase, findInside, type FileInterest, type FileWatch } from './file-watch.ts';
import { composePlans, keyOfWorkflow, type ComposedPlan } from './plans.ts';
import { keyOfGroup } from './sense-entry.ts';
import type { Senses } from './senses.ts';
import { shortDigest } from './short-digest.ts';

export interface ReloaderOptions {
  readonly projectRoot: string;
  readonly runtime: Pick<WorkerRuntime, 'declare' | 'withdraw'>;
  readonly senses: Senses;
  readonly files: Pick<FileWatch, 'set'>;
  readSettings(): ResidentSettings | Promise<ResidentSettings>;
  onReloaded(changed: readonly string[]): void;
  warn(message: string): void;
}

export interface Reloader {
  /** What runs now, or is about to. */
  settings(): ResidentSettings;
  /** Resolves with the keys that changed, those that came or went included. */
  reload(): Promise<readonly string[]>;
  /** Resolves when nothing is under way; no reload begins any more. */
  stop(): Promise<void>;
}

export function createReloader(options: ReloaderOptions): Reloader {
  return new SerialReloader(options);
}

class SerialReloader implements Reloader {
  readonly #options: ReloaderOptions;
  #settings: ResidentSettings = { senses: [], workflows: [] };
  /** What each key was made of, as a digest. */
  #applied = new Map<string, string>();
  #underWay: Promise<unknown> = Promise.resolve();
  #next: Promise<readonly string[]> | null = null;
  #isStopped = false;

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  settings(): ResidentSettings {
    return this.#settings;
  }

  reload(): Promise<readonly string[]> {
    if (this.#next !== null) return this.#next;
    const next = this.#underWay.then(() => {
      this.#next = null;
      return this.#isStopped ? [] : this.#apply();
    });
    this.#next = next;
    this.#underWay = next.catch(() => undefined);
    return next;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#underWay;
  }

  async #apply(): Promise<readonly string[]> {
    const { projectRoot, runtime, senses, files, readSettings, onReloaded } = this.#options;
    const settings = await readSettings();
    const plans = await composePlans(projectRoot, settings);
    if (this.#isStopped) return [];
    const described = describeAll(plans, settings);
    const gone = [...this.#applied.keys()].filter((key) => !described.has(key));
    const changed = [...described].filter(([key, text]) => this.#applied.get(key) !== text);
    this.#settings = settings;
    this.#applied = described;
    for (const { plan } of plans) runtime.declare(plan, { isKept: plan.kind === 'senses' });
    senses.set(settings.senses);
    for (const key of gone) void runtime.withdraw(key);
    await files.set([...this.#sourceInterests(plans), ...this.#senseInterests()]);
    const keys = [...changed.map(([key]) => key), ...gone];
    if (keys.length > 0) onReloaded(keys);
    return keys;
  }

  #sourceInterests(plans: readonly ComposedPlan[]): FileInterest[] {
    const { projectRoot } = this.#options;
    const paths = new Set(plans.flatMap((plan) => plan.files));
    const inside = [...paths].flatMap((path) => findInside(projectRoot, path) ?? []);
    const matches = (path: string): boolean => paths.has(resolve(projectRoot, path));
    const bases = new Set(inside.map((path) => dirname(path).replace(/^\.$/, '')));
    const onChanged = (): void =>
      void this.reload().catch((error: unknown) =>
        this.#options.warn(`changed files were not loaded: ${(error as Error).message}`),
      );
    // The interests of one reload are one report each; the reloads become one.
    return [...bases].map((base) => ({ base, matches, onChanged }));
  }

  #senseInterests(): FileInterest[] {
    const { senses } = this.#options;
    return this.#settings.senses.flatMap(({ name, on }) =>
      on.flatMap((trigger) => {
        if (trigger.kind !== 'files') return [];
        const { matches } = compilePattern(trigger.pattern);
        const onChanged = (paths: readonly string[]): void =>
          void senses.request(name, { kind: 'files', paths: [...paths] });
        return [{ base: findBase(trigger.pattern), matches, onChanged }];
      }),
    );
  }
}

/** A digest of each key's code and settings. */
function describeAll(
  plans: readonly ComposedPlan[],
  { senses, workflows }: ResidentSettings,
): Map<string, string> {
  const settings = new Map<string, unknown>([
    ...Map.groupBy(senses, ({ group }) => keyOfGroup(group)),
    ...workflows.map((flow) => [keyOfWorkflow(flow.name), flow] as const),
  ]);
  return new Map(
    plans.map(({ plan: { key, digest } }) => {
      return [key, shortDigest(JSON.stringify([digest, settings.get(key)]))];
    }),
  );
}

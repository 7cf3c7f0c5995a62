/** What a worker said of the files that it serves. */
import type { ResidentLine } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import type { Problems } from './describe-problems.ts';

type Line<K extends ResidentLine['kind']> = Extract<ResidentLine, { kind: K }>;

export class ModuleLoads {
  readonly #problems = new Map<string, string>();
  readonly #loading = new Set<string>();

  /** One that the worker did not name has a problem, too. */
  constructor(plan: ResidentPlan, { modules }: Line<'ready'>) {
    const said = new Map(modules.map((module) => [module.name, module]));
    for (const { name } of plan.modules) {
      const { problem, isLoading } = said.get(name) ?? { name, problem: 'the worker did not load it' };
      if (problem !== undefined) this.#problems.set(name, problem);
      else if (isLoading === true) this.#loading.add(name);
    }
  }

  /** By name, why a file cannot be used. */
  get problems(): Problems {
    return this.#problems;
  }

  get areKnown(): boolean {
    return this.#loading.size === 0;
  }

  isLoading(name: string): boolean {
    return this.#loading.has(name);
  }

  /** False if nobody waits for it. */
  take({ name, problem }: Line<'loaded'>): boolean {
    if (!this.#loading.delete(name)) return false;
    if (problem !== undefined) this.#problems.set(name, problem);
    return true;
  }
}

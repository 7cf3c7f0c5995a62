/** All declared keys, in their order. One that was never used is its plan and nothing else (RE6). */
import type { ResidentView } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { KeyedWorker } from './keyed-worker.ts';

/** Declared, and never used. */
export class DeclaredKey {
  readonly plan: ResidentPlan;
  readonly isKept: boolean;

  constructor(plan: ResidentPlan, isKept: boolean) {
    this.plan = plan;
    this.isKept = isKept;
  }
}

export function describeDeclared({ plan }: DeclaredKey): ResidentView {
  const serves = plan.modules.map(({ name }) => name);
  return { key: plan.key, state: 'idle', serves, crashes: 0, starts: 0, underWay: 0 };
}

export class KeyTable {
  readonly #keys = new Map<string, KeyedWorker | DeclaredKey>();
  readonly #create: (declared: DeclaredKey) => KeyedWorker;

  constructor(create: (declared: DeclaredKey) => KeyedWorker) {
    this.#create = create;
  }

  declare(declared: DeclaredKey): void {
    const known = this.findUsed(declared.plan.key);
    if (known === undefined) this.#keys.set(declared.plan.key, declared);
    else known.declare(declared.plan, declared.isKept);
  }

  find(key: string): KeyedWorker | DeclaredKey | undefined {
    return this.#keys.get(key);
  }

  findUsed(key: string): KeyedWorker | undefined {
    const found = this.#keys.get(key);
    return found instanceof KeyedWorker ? found : undefined;
  }

  /** From now on it counts as used. */
  use(key: string): KeyedWorker | undefined {
    const found = this.#keys.get(key);
    if (!(found instanceof DeclaredKey)) return found;
    const used = this.#create(found);
    this.#keys.set(key, used);
    return used;
  }

  delete(key: string): void {
    this.#keys.delete(key);
  }

  all(): (KeyedWorker | DeclaredKey)[] {
    return [...this.#keys.values()];
  }
}

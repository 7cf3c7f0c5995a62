import type { Check } from './contract.ts';

/** Collects the answers of a verification; what a check throws is its answer. */
export class CheckReport {
  readonly checks: Check[] = [];

  /** Runs a check that gives its detail, or null when it does not apply. */
  async check(id: string, run: () => Promise<string | null> | string | null): Promise<void> {
    try {
      const detail = await run();
      if (detail === null) this.skip([id], 'there is none');
      else this.checks.push({ id, verdict: 'ok', detail });
    } catch (cause) {
      this.#fail(id, cause);
    }
  }

  /** Runs a check whose value others need; null when it failed. */
  async value<T>(id: string, run: () => Promise<T> | T, detail: string): Promise<T | null> {
    try {
      const value = await run();
      this.checks.push({ id, verdict: 'ok', detail });
      return value;
    } catch (cause) {
      this.#fail(id, cause);
      return null;
    }
  }

  skip(ids: readonly string[], detail: string): void {
    for (const id of ids) this.checks.push({ id, verdict: 'not-applicable', detail });
  }

  #fail(id: string, cause: unknown): void {
    this.checks.push({
      id,
      verdict: 'failed',
      detail: cause instanceof Error ? cause.message : String(cause),
    });
  }
}

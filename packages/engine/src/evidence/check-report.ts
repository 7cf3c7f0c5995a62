import { CaissonError, definedOnly } from '@caisson/protocol';
import { LedgerTruncatedError } from '../ledger/index.ts';
import { BlobMissingError, StoreAccessError } from '../store/index.ts';
import type { Check, Verdict, VerifyOutcome } from './contract.ts';
import { IncompleteError } from './errors.ts';

/** Checks that concern the signature itself, and whether there is one; the rest is integrity. */
export const KEY_CHECK = 'key';
export const SIGNATURE_CHECK = 'signature';
const SEAL_CHECK = 'seal';

/** Collects the answers of a verification; an error that a check throws is its answer. */
export class CheckReport {
  readonly checks: Check[] = [];

  /** Runs a check that returns its detail, or null when it does not apply, for the reason `otherwise`. */
  async check(
    id: string,
    run: () => Promise<string | null> | string | null,
    otherwise = 'there is nothing to compare with',
  ): Promise<void> {
    try {
      const detail = await run();
      if (detail === null) this.skip([id], otherwise);
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

  /** Whether the input of that check is missing. */
  isMissing(id: string): boolean {
    return this.checks.some((check) => check.id === id && check.verdict === 'missing');
  }

  skip(ids: readonly string[], detail: string): void {
    this.#push(ids, 'not-applicable', detail);
  }

  /** The input of these is missing. */
  miss(ids: readonly string[], detail: string): void {
    this.#push(ids, 'missing', detail);
  }

  #push(ids: readonly string[], verdict: Verdict, detail: string): void {
    for (const id of ids) this.checks.push({ id, verdict, detail });
  }

  #fail(id: string, cause: unknown): void {
    this.checks.push({
      id,
      verdict: isAbsence(cause) ? 'missing' : 'failed',
      detail: cause instanceof Error ? cause.message : String(cause),
      ...(cause instanceof CaissonError ? definedOnly({ remedy: cause.remedy }) : {}),
    });
  }
}

const ABSENCES = [IncompleteError, BlobMissingError, StoreAccessError, LedgerTruncatedError];

/** Whether a check failed only because its input is missing or cannot be read. */
export function isAbsence(cause: unknown): boolean {
  return ABSENCES.some((absence) => cause instanceof absence);
}

/** The worst of the checks' findings. */
export function decideOutcome(checks: readonly Check[]): VerifyOutcome {
  const idsOf = (verdict: Verdict): string[] =>
    checks.filter((check) => check.verdict === verdict).map((check) => check.id);
  const failed = idsOf('failed');
  const missing = idsOf('missing');
  if (failed.includes(SIGNATURE_CHECK)) return 'bad-signature';
  if (failed.some((id) => id !== KEY_CHECK)) return 'tampered';
  if (missing.includes(SEAL_CHECK)) return 'unsealed';
  if (missing.length > 0) return 'incomplete';
  return failed.length > 0 ? 'no-key' : 'ok';
}

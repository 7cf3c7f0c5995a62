/** What a session and a day have spent and promised. */
import type { BudgetOptions, BudgetStanding } from './contract.ts';
import { listReservations, promisedUsd, sum, type Reservation } from './reservations.ts';
import { countCapsOf, type CountedScope } from './scope-counts.ts';

export interface Scopes {
  /** The session's standing, if there is one, then the day's. A viewer's own promise is not held against it. */
  standings(session: string | null, viewer?: string | null, counts?: 'promises' | 'caps'): BudgetStanding[];
  /** The same scopes with what counts in tokens, turns and calls. */
  counted(session: string | null): CountedScope[];
}

export function createScopes({ settings, books, today }: BudgetOptions): Scopes {
  /** Of a session, or of today: a run is charged on the day of its end, so all running runs belong to today. */
  const heldIn = (session: string | null): Reservation[] =>
    listReservations(books).filter((row) => session === null || row.session === session);
  const standing = (
    scope: 'session' | 'day',
    scopeId: string,
    { viewer, counts }: { viewer: string | null; counts: 'promises' | 'caps' },
  ): BudgetStanding => {
    const rows = books.spend(scope === 'session' ? { session: scopeId } : { day: scopeId });
    const held = heldIn(scope === 'session' ? scopeId : null);
    return {
      scope,
      scopeId,
      spentUsd: sum(rows.map((row) => row.costUsd ?? 0)),
      reservedUsd: promisedUsd(held, viewer, counts),
      ceilingUsd: scope === 'session' ? settings.perSessionUsd : settings.perDayUsd,
      ...countCapsOf(settings, { scope, scopeId, spent: rows, held }),
      unknownCosts: sum(rows.map((row) => row.unknownCosts)),
      estimatedCosts: sum(rows.map((row) => row.estimatedCosts ?? 0)),
      runCount: rows.length,
      tokensIn: sum(rows.map((row) => row.inputTokens)),
      tokensOut: sum(rows.map((row) => row.outputTokens)),
    };
  };
  return {
    standings: (session, viewer = null, counts = 'promises') => [
      ...(session === null ? [] : [standing('session', session, { viewer, counts })]),
      standing('day', today(), { viewer, counts }),
    ],
    counted(session) {
      const day = today();
      const ofDay: CountedScope = {
        scope: 'day',
        scopeId: day,
        spent: books.spend({ day }),
        held: heldIn(null),
      };
      if (session === null) return [ofDay];
      const ofSession = { spent: books.spend({ session }), held: heldIn(session) };
      return [{ scope: 'session', scopeId: session, ...ofSession }, ofDay];
    },
  };
}

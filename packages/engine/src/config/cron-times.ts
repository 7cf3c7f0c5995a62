/** The times of a cron expression. */

export interface CronTimes {
  /** The first time after this one; null when there is none. */
  next(afterMs: number): number | null;
  /** The last time at or before this one; null when there is none. */
  latest(untilMs: number): number | null;
}

/** Throws an Error that says what is wrong with the expression or the zone. */
export async function readCronTimes(cron: string, timezone?: string): Promise<CronTimes> {
  if (timezone !== undefined) demandZone(timezone);
  demandFields(cron);
  const { Cron } = await import('./cron-parser.ts');
  const zone = timezone === undefined ? {} : { timezone };
  const times = new Cron(cron, { mode: '5-or-6-parts', paused: true, ...zone });
  return {
    next: (afterMs) => times.nextRun(new Date(afterMs))?.getTime() ?? null,
    // The one before a time excludes that time.
    latest: (untilMs) => times.previousRuns(1, new Date(untilMs + 1000))[0]?.getTime() ?? null,
  };
}

/** The parser knows forms with a year, and names beside fields; neither is accepted, nor said of fields that are too many. */
function demandFields(cron: string): void {
  const fields = cron.trim().split(/\s+/).length;
  if (fields === 5 || fields === 6 || cron.trim().startsWith('@')) return;
  throw new Error(
    `"${cron}" has ${fields} ${fields === 1 ? 'field' : 'fields'}; it needs five (minute, hour, day of the month, month, day of the week), or six with ` +
      `seconds first, such as "0 3 * * *" for 03:00 each day`,
  );
}

function demandZone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    throw new Error(`there is no time zone "${timezone}"; use a name such as Europe/Berlin`);
  }
}

import { expect, it } from 'vitest';
import { ageOfOldestOpenRun, startGrace } from './blob-roots.ts';

const rooms = (acceptedAt: string | null, nowAt: string): Parameters<typeof ageOfOldestOpenRun>[0] =>
  ({
    ledger: { runs: () => (acceptedAt === null ? [] : [{ acceptedAt }]) },
    clock: { wallMs: () => Date.parse(nowAt) },
  }) as never;

it('what is younger than the oldest open run is kept, and everything once the clock was set back before it', () => {
  expect(ageOfOldestOpenRun(rooms(null, '2026-01-02T00:00:00Z'))).toBe(0);
  expect(ageOfOldestOpenRun(rooms('2026-01-01T23:00:00Z', '2026-01-02T00:00:00Z'))).toBe(3_660_000);
  expect(ageOfOldestOpenRun(rooms('2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'))).toBe(Infinity);
});

it('what was put while a survey went on is kept, also when no run was open as it began', () => {
  let nowMs = Date.parse('2026-01-02T00:00:00Z');
  const moving = (acceptedAt: string | null): ReturnType<typeof rooms> => ({
    ...rooms(acceptedAt, ''),
    clock: { wallMs: () => nowMs } as never,
  });
  const graces = [startGrace(moving(null)), startGrace(moving('2026-01-01T23:00:00Z'))];
  nowMs += 50_000;
  expect(graces.map((findGrace) => findGrace())).toEqual([50_000, 3_710_000]);
});

/**
 * Runs candidates in turns and returns each one's median rate. Turns, so that a busy moment of the machine hits all of
 * them; one round in advance, so that all are compiled.
 */
export async function measureInTurns<Name extends string>(
  rounds: number,
  candidates: Readonly<Record<Name, () => number | Promise<number>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(candidates) as Name[];
  const rates = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const rate = await candidates[name]();
      if (round > 0) rates.get(name)?.push(rate);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(rates.get(name) ?? [])])) as Record<
    Name,
    number
  >;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** What tokens cost. A model that is not in the table has no known cost, which is never the same as no cost. */
import type { Usage } from '@caisson/protocol';
import table from './prices.json' with { type: 'json' };

/** Version of the table, for records. */
export const PRICE_TABLE_VERSION: string = table.version;

interface Price {
  readonly match: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** The longest entry that the model's name starts with, after a provider prefix such as `anthropic/`. */
export function findPrice(model: string): Price | null {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const fitting = table.models.filter((price) => name.startsWith(price.match));
  return fitting.toSorted((left, right) => right.match.length - left.match.length)[0] ?? null;
}

/**
 * As the runtime said, else by the table when every model that served has a price, else unknown. A runtime that does
 * not say what served it is charged as the model that was asked for.
 */
export function costOf(usage: Usage, requestedModel = ''): number | undefined {
  if (usage.costUsd !== undefined) return usage.costUsd;
  const models = usage.models.length === 0 ? [requestedModel] : usage.models;
  const prices = models.map(findPrice);
  if (prices.some((price) => price === null)) return undefined;
  // Several models served and the runtime did not split the tokens: the dearest is charged, never the cheapest.
  return Math.max(...prices.map((price) => (price === null ? 0 : priced(usage, price))));
}

function priced(usage: Usage, price: Price): number {
  const tokens =
    usage.inputTokens * price.input +
    usage.outputTokens * price.output +
    usage.cacheReadTokens * price.cacheRead +
    usage.cacheWriteTokens * price.cacheWrite;
  return tokens / table.per;
}

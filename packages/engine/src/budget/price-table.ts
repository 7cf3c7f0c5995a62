/** What tokens cost. A model that is not in the table has an unknown cost, which is not the same as no cost. */
import type { Usage } from '@caisson/protocol';
import table from './prices.json' with { type: 'json' };

/** Version of the table, for records. */
export const PRICE_TABLE_VERSION: string = table.version;

/** The models that have a price, by their usual names. */
export function listPricedModels(): string[] {
  return table.models.flatMap(({ names }) => names.slice(0, 1));
}

/** Written out: the published types cannot name a JSON file. */
interface Price {
  readonly names: readonly string[];
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A date, a stable version, or "the newest of this name": the same model. Any other ending is another model. */
const SAME_MODEL = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3}|-latest)?(?:@(?:\d{8}|default|latest))?$/;

/** The entry of exactly this model, after a provider prefix such as `anthropic/` and before a date. */
export function findPrice(model: string): Price | null {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const bare = name.replace(SAME_MODEL, '');
  return table.models.find(({ names }) => names.includes(name) || names.includes(bare)) ?? null;
}

/**
 * As the runtime reported, else by the table when every model that served has a price, else unknown. If a runtime does
 * not report which model served it, the requested model is charged. A runtime that reports 0 for a model it used does
 * not know the price.
 */
export function costOf(usage: Usage, requestedModel = ''): number | undefined {
  if (usage.costUsd !== undefined && (usage.costUsd > 0 || tokensOf(usage) === 0)) return usage.costUsd;
  const models = usage.models.length === 0 ? [requestedModel] : usage.models;
  const prices = models.map(findPrice);
  if (prices.some((price) => price === null)) return undefined;
  // Several models served and the runtime did not split the tokens: the most expensive is charged, never the cheapest.
  return Math.max(...prices.map((price) => (price === null ? 0 : priced(usage, price))));
}

/** In and out, the cache's too. */
export function tokensOf(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

function priced(usage: Usage, price: Price): number {
  const tokens =
    usage.inputTokens * price.input +
    usage.outputTokens * price.output +
    usage.cacheReadTokens * price.cacheRead +
    usage.cacheWriteTokens * price.cacheWrite;
  return tokens / table.per;
}

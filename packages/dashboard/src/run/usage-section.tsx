import type { DispatchResult } from '@caisson/protocol';
import { Facts } from '../ui/facts.tsx';
import { formatCount, formatMs, formatRunCost, usesModel } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';

export function UsageSection({ run }: { run: DispatchResult }) {
  const usage = run.total?.usage ?? run.result?.usage ?? run.usage;
  return (
    <Section title="Usage and cost">
      <Facts
        facts={[
          ['Cost', formatRunCost(run)],
          ['Tokens so far', usage === undefined ? tokensSoFar(run) : undefined],
          ['Counted', run.usage === undefined ? undefined : 'until it ended without a result: at least this'],
          ['Tokens in', usage === undefined ? undefined : formatCount(usage.inputTokens)],
          ['Tokens out', usage === undefined ? undefined : formatCount(usage.outputTokens)],
          ['From the cache', usage === undefined ? undefined : formatCount(usage.cacheReadTokens)],
          ['Into the cache', usage === undefined ? undefined : formatCount(usage.cacheWriteTokens)],
          ['Turns', usage?.turns ?? run.live?.turns],
          ['Tool calls', usage?.toolCalls ?? run.live?.toolCalls],
          ['Models', usage === undefined || usage.models.length === 0 ? undefined : usage.models.join(', ')],
          ['Attempts', run.total?.attempts],
          ['Took in all', run.total === undefined ? undefined : formatMs(run.total.durationMs)],
        ]}
      />
    </Section>
  );
}

function tokensSoFar(run: DispatchResult): string | undefined {
  if (!usesModel(run)) return undefined;
  const tokens = run.live?.tokens;
  return tokens === undefined ? 'unknown' : `${formatCount(tokens)} in and out`;
}

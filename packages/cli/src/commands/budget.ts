import { PRICE_TABLE_VERSION, type BudgetStanding } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { formatCost } from '../format-values.ts';
import type { Line, Lines } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--session NAME]',
  about:
    'Failures are charged too. A cost that no runtime reported and no table knows is shown as unknown, never as zero. A sum is approximate (~) if an answer did not report its usage and was estimated.',
  options: { session: { type: 'string', value: 'NAME', summary: 'also this session' } },
  examples: [{ line: 'caisson budget --session release', says: 'Today and one session against their caps.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const standings = await caisson.budget(options.session);
      output.result({ priceTable: PRICE_TABLE_VERSION, standings }, () =>
        format(standings, output.style.bold, output.wrapColumns()),
      );
      return EXIT_CODES.finished;
    }),
});

function format(standings: readonly BudgetStanding[], bold: (text: Line) => Line, columns: number): Lines {
  const rows = standings.map((standing) => [
    `${standing.scope} ${standing.scopeId}`,
    formatSpent(standing),
    formatCost(standing.reservedUsd),
    formatCaps(standing),
    String(standing.unknownCosts),
    String(standing.estimatedCosts),
    `${standing.tokensIn} in, ${standing.tokensOut} out`,
    String(standing.runCount),
  ]);
  return formatTable(
    [['SCOPE', 'SPENT', 'RESERVED', 'CAP', 'UNKNOWN', 'ESTIMATED', 'TOKENS', 'RUNS'], ...rows],
    bold,
    columns,
  );
}

function formatCaps({ ceilingUsd, countCaps = {} }: BudgetStanding): string {
  const { tokens, turns, toolCalls } = countCaps;
  const caps = [
    ceilingUsd === null ? null : formatCost(ceilingUsd),
    tokens === undefined ? null : `${tokens} tokens`,
    turns === undefined ? null : `${turns} turns`,
    toolCalls === undefined ? null : `${toolCalls} tool calls`,
  ].filter((cap) => cap !== null);
  return caps.length === 0 ? 'no cap' : caps.join(', ');
}

/** No sum is shown as 0 if the cost of an ending is unknown. */
function formatSpent({ spentUsd, unknownCosts, estimatedCosts }: BudgetStanding): string {
  if (spentUsd === 0 && unknownCosts > 0) return '-';
  return formatCost(spentUsd, estimatedCosts > 0);
}

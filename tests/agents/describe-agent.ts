import { afterAll, beforeAll, describe, it } from 'vitest';
import { isSkipped, prepareAgent, type AgentUnderTest } from './agent-under-test.ts';
import { CELLS } from './cells.ts';
import { FAILED, keepColumn, type MatrixColumn } from './matrix-table.ts';

const INSTALL_TIMEOUT_MS = 20 * 60_000;
const CELL_TIMEOUT_MS = 180_000;
const isWhole = process.env['CAISSON_AGENT_MATRIX'] === '1';

/** Puts one agent through its cells: all of them in `npm run test:agents`, the short ones in `npm test`. */
export function describeAgent(name: string): void {
  if (isSkipped) process.stderr.write(`CAISSON_SKIP_AGENTS=1: ${name} is not run through the agent tests.\n`);
  describe.skipIf(isSkipped)(`the real ${name}`, () => {
    let agent: AgentUnderTest;
    const column: MatrixColumn = { agent: name, version: '', isPinned: true, on: '', cells: {} };
    beforeAll(async () => {
      agent = await prepareAgent(name);
      column.version = agent.version;
      column.isPinned = agent.isPinned;
      column.on = new Date().toISOString().slice(0, 10);
    }, INSTALL_TIMEOUT_MS);
    afterAll(() => {
      if (isWhole)
        keepColumn(
          column,
          CELLS.map(({ title }) => title),
        );
    });
    const cells = CELLS.filter(({ isShort }) => isShort || isWhole);
    it.each(cells)(
      '$title',
      async ({ title, prove }) => {
        column.cells[title] = FAILED;
        column.cells[title] = (await prove(agent)) ?? 'pass';
      },
      CELL_TIMEOUT_MS,
    );
  });
}

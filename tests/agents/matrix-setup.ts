/** Before the whole matrix: every program is there, installed side by side. After it: the table. */
import { AGENT_NAMES, isSkipped, prepareAgent } from './agent-under-test.ts';
import { writeMatrixPage } from './matrix-table.ts';

export async function setup(): Promise<void> {
  if (!isSkipped) await Promise.all(AGENT_NAMES.map((name) => prepareAgent(name)));
}

export function teardown(): void {
  const isWritten = writeMatrixPage(AGENT_NAMES);
  process.stdout.write(
    isWritten ? 'wrote docs/agents-matrix.md\n' : 'docs/agents-matrix.md left as it was\n',
  );
}

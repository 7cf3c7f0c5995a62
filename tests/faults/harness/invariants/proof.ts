/** Every run that ended is sealed once the next command is over, and can be verified. */
import type { Invariant } from './contract.ts';

/** Read from the ledger, before any command that names the run: `verify` seals what it finds unsealed. */
export const isSealed: Invariant = {
  name: 'sealed',
  check: ({ stage }) =>
    stage
      .ledger()
      .runs({ unsealed: true })
      .map(({ runId }) => `${runId} is not, after the next command`),
};

export const verifies: Invariant = {
  name: 'verifies',
  async check({ stage }) {
    const found: string[] = [];
    for (const { runId } of stage.ledger().runs()) {
      const { code, stdout, stderr } = await stage.read('verify', runId);
      if (code !== 0) found.push(`verify ${runId} exits ${code}: ${lastLines(stdout + stderr)}`);
    }
    return found;
  },
};

function lastLines(text: string): string {
  const lines = text.trim().split('\n');
  const failed = lines.filter((line) => line.includes('FAILED'));
  return [...failed, ...lines.slice(-2)].join(' | ');
}

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import { TASKS, type AgentScene } from './scene.ts';

const ROUNDS = 11;

export async function measureWall(scene: AgentScene): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { task, model, atMost } of TASKS) {
    const ms = await scene.withDaemon(() =>
      measureInTurns(ROUNDS, {
        bare: () => scene.runBare(task),
        alone: () => scene.runOurs(task, 'alone'),
        byDaemon: () => scene.runOurs(task, 'by daemon'),
      }),
    );
    rows.push(
      toRow(`with ${model}, end to end`, ms.alone, ms.bare, atMost.alone),
      toRow(`with ${model}, through a daemon, end to end`, ms.byDaemon, ms.bare, atMost.byDaemon),
    );
  }
  return rows;
}

function toRow(what: string, value: number, peerValue: number, atMost: number): BenchRow {
  const ratio = value / peerValue;
  return {
    name: `agents: one edit by codex ${what}`,
    value,
    unit: 'ms p50',
    peer: 'codex exec alone',
    peerValue,
    ratio,
    target: `<= ${atMost}x`,
    met: ratio <= atMost,
  };
}

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import { TASKS, type AgentScene } from './scene.ts';

const ROUNDS = 11;
const MOST = 1.25;

export async function measureWall(scene: AgentScene): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { task, model } of TASKS) {
    const ms = await measureInTurns(ROUNDS, {
      bare: () => scene.runBare(task),
      ours: () => scene.runOurs(task),
    });
    const ratio = ms.ours / ms.bare;
    rows.push({
      name: `agents: one edit by codex with ${model}, end to end`,
      value: ms.ours,
      unit: 'ms p50',
      peer: 'codex exec alone',
      peerValue: ms.bare,
      ratio,
      target: `<= ${MOST}x`,
      met: ratio <= MOST,
    });
  }
  return rows;
}

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import type { AgentScene } from './scene.ts';

const ROUNDS = 11;
const MOST = 1.25;

export async function measureWall(scene: AgentScene): Promise<BenchRow> {
  const ms = await measureInTurns(ROUNDS, { bare: () => scene.runBare(), ours: () => scene.runOurs() });
  const ratio = ms.ours / ms.bare;
  return {
    name: 'agents: one edit by codex, end to end',
    value: ms.ours,
    unit: 'ms p50',
    peer: 'codex exec alone',
    peerValue: ms.bare,
    ratio,
    target: `<= ${MOST}x`,
    met: ratio <= MOST,
  };
}

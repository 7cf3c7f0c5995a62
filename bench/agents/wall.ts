import { measureInTurns } from '../alternate.ts';
import type { BenchRow, RowHead } from '../bench-row.ts';
import { TASKS, type AgentScene } from './scene.ts';

const ROUNDS = 11;
const WAYS = ['alone', 'byDaemon'] as const;

export const WALL_ROWS: readonly RowHead[] = TASKS.flatMap((each) => WAYS.map((way) => headOf(each, way)));

export async function measureWall(scene: AgentScene): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const each of TASKS) {
    const { task } = each;
    const ms = await scene.withDaemon(() =>
      measureInTurns(ROUNDS, {
        bare: () => scene.runBare(task),
        alone: () => scene.runOurs(task, 'alone'),
        byDaemon: () => scene.runOurs(task, 'by daemon'),
      }),
    );
    for (const way of WAYS)
      rows.push(toRow(headOf(each, way), ms[way], { bare: ms.bare, atMost: each.atMost[way] }));
  }
  return rows;
}

function headOf({ model, atMost }: (typeof TASKS)[number], way: (typeof WAYS)[number]): RowHead {
  return {
    name: `agents: one edit by codex with ${model}${way === 'alone' ? '' : ', through a daemon'}, end to end`,
    unit: 'ms p50',
    peer: 'codex exec alone',
    target: `<= ${atMost[way]}x`,
  };
}

function toRow(
  head: RowHead,
  value: number,
  { bare, atMost }: { readonly bare: number; readonly atMost: number },
): BenchRow {
  const ratio = value / bare;
  return { ...head, value, peerValue: bare, ratio, met: ratio <= atMost };
}

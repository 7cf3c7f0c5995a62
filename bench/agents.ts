// What Caisson adds to a real agent: the same one-edit task by `codex exec` alone and by `caisson run --runtime codex`,
// in turns, against the same scripted model on loopback. Needs a build, and codex in .cache/agents
// (`node tests/agents/install-agents.mjs codex` installs it).
import { unmeasuredRow, type BenchRow } from './bench-row.ts';
import { measureMemory, MEMORY_ROW } from './agents/memory.ts';
import { createAgentScene, NO_CODEX, type AgentScene } from './agents/scene.ts';
import { measureThroughput, THROUGHPUT_ROWS } from './agents/throughput.ts';
import { measureWall, WALL_ROWS } from './agents/wall.ts';

/** In the order in which they are measured. */
const ROWS = [...WALL_ROWS, MEMORY_ROW, ...THROUGHPUT_ROWS];

export async function run(): Promise<BenchRow[]> {
  const scene = await createAgentScene();
  if (scene === null) return ROWS.map((row) => unmeasuredRow(row, NO_CODEX));
  try {
    return await measure(scene);
  } finally {
    await scene.remove();
  }
}

async function measure(scene: AgentScene): Promise<BenchRow[]> {
  return [...(await measureWall(scene)), await measureMemory(scene), ...(await measureThroughput(scene))];
}

// What Caisson adds to a real agent: the same one-edit task by `codex exec` alone and by `caisson run --runtime codex`,
// in turns, against the same scripted model on loopback. Needs a build, and codex in .cache/agents
// (`node tests/agents/install-agents.mjs codex` installs it).
import type { BenchRow } from './bench-row.ts';
import { measureMemory } from './agents/memory.ts';
import { createAgentScene } from './agents/scene.ts';
import { measureThroughput } from './agents/throughput.ts';
import { measureWall } from './agents/wall.ts';

export async function run(): Promise<BenchRow[]> {
  const scene = await createAgentScene();
  try {
    return [...(await measureWall(scene)), await measureMemory(scene), ...(await measureThroughput(scene))];
  } finally {
    await scene.remove();
  }
}

// What Caisson adds to a real agent: the same one-edit task by `codex exec` alone and by `caisson run --runtime codex`,
// in turns, against the same scripted model on loopback. Needs a build, and codex in .cache/agents
// (`node tests/agents/install-agents.mjs codex` installs it).
import { unmeasuredRow, type BenchRow } from './bench-row.ts';
import { measureMemory } from './agents/memory.ts';
import { createAgentScene, NO_CODEX, type AgentScene } from './agents/scene.ts';
import { measureThroughput } from './agents/throughput.ts';
import { measureWall } from './agents/wall.ts';

export async function run(): Promise<BenchRow[]> {
  const scene = await createAgentScene();
  if (scene === null) return [unmeasuredRow(EVERYTHING, NO_CODEX)];
  try {
    return await measure(scene);
  } finally {
    await scene.remove();
  }
}

const EVERYTHING = {
  name: 'agents: time, memory and throughput of edits by codex',
  unit: 'ms p50',
  peer: 'codex exec alone',
  target: 'as for each',
};

async function measure(scene: AgentScene): Promise<BenchRow[]> {
  return [...(await measureWall(scene)), await measureMemory(scene), ...(await measureThroughput(scene))];
}

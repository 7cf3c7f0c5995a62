/** The doctor and admission say the same of the agents that caisson.yaml declares. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const CONFIG = `capabilities: { rules: ./rules }
agents:
  fine: { runtime: command, capabilities: [rules] }
  absent: { runtime: codex }
  lost: { runtime: command, capabilities: [shared] }
`;

interface Probe {
  readonly id: string;
  readonly verdict: string;
  readonly detail: string;
  readonly remedy?: string;
}

async function examine(project: Project): Promise<Map<string, Probe>> {
  const { stdout } = await project.caisson('doctor', '-o', 'json');
  const { probes } = JSON.parse(stdout) as { probes: Probe[] };
  return new Map(probes.filter(({ id }) => id.startsWith('agent-')).map((probe) => [probe.id, probe]));
}

it('each agent of caisson.yaml has a finding, in the words that a run of it is refused with', async () => {
  const project = createProject({ config: CONFIG });
  project.write('rules/RULES.md', 'Be kind.\n');
  const found = await examine(project);
  expect([...found].map(([id, { verdict }]) => [id, verdict])).toEqual([
    ['agent-absent', 'warn'],
    ['agent-fine', 'ok'],
    ['agent-lost', 'warn'],
  ]);
  for (const [name, task] of [
    ['absent', ['x']],
    ['lost', ['--', 'true']],
  ] as const) {
    const { stderr } = await project.caisson('run', '--agent', name, ...task);
    const said = found.get(`agent-${name}`)?.detail.replace(/^.* is refused: /, '') ?? '';
    expect(stderr).toContain(said);
    expect(said).not.toBe('');
  }
  expect(existsSync(join(project.root, '.caisson'))).toBe(false);
}, 60_000);

it('a name that is registered is known to the doctor, too', async () => {
  const project = createProject({ config: CONFIG });
  project.write('rules/RULES.md', 'Be kind.\n');
  expect((await project.caisson('capabilities', 'register', 'shared', 'rules')).code).toBe(0);
  expect((await examine(project)).get('agent-lost')?.verdict).toBe('ok');
}, 60_000);

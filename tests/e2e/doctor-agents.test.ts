/** The doctor and admission say the same of the agents that caisson.yaml declares. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '@caisson/testkit';
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

/** What the doctor says of the only agent, after a run of it was refused with the same words. */
async function examineRefused(project: Project, ...task: string[]): Promise<Probe | undefined> {
  const { code, stderr } = await project.caisson('run', '--agent', 'fine', ...task);
  expect(code).not.toBe(0);
  const found = (await examine(project)).get('agent-fine');
  expect(found?.verdict).toBe('warn');
  expect(stderr).toContain(found?.detail.replace(/^.* is refused: /, ''));
  return found;
}

it('an agent of a project that the user has not agreed to is refused', async () => {
  const config = 'workspace: { setup: "true" }\nagents: { fine: { runtime: command } }\n';
  const project = createProject({ config, trusts: false });
  const found = await examineRefused(project, '--', 'true');
  expect(found?.detail).toContain('asks for what you have not agreed to');
  expect(found?.remedy).toContain('caisson trust --yes');
}, 60_000);

it('an agent of a project that has spent its day is refused, and nothing is reserved by asking', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const apiKey = 'a-key-of-this-test';
  const server = await startModelServer({ apiKey, script: [{ say: 'done', usage }] });
  onTestFinished(() => server.stop());
  const native = `{ endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: claude-sonnet-4-5 }`;
  const project = createProject({
    env: { MODEL_KEY: apiKey },
    config: `runtime: native\nruntimes: { native: ${native} }\nbudget: { perDayTokens: 100 }\nagents: { fine: {} }\n`,
  });
  await project.trust();
  expect((await examine(project)).get('agent-fine')?.verdict).toBe('ok');
  await project.run('--agent', 'fine', 'work');
  const found = await examineRefused(project, 'work');
  expect(found?.detail).toContain('100');
  const { stdout } = await project.caisson('budget', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ standings: [{ reservedUsd: 0 }] });
}, 60_000);

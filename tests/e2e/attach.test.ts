/** A person at another terminal sees a run as the one who started it does, and leaves it without harm. */
import { expect, it } from 'vitest';
import { serve, untilStatus } from '../faults/killed-daemons.ts';
import { command, createAgents, detach, letGo, untilAt, untilFile } from '../faults/scripted-agents.ts';
import { createProject, finish, until } from './project.ts';

it(
  'attach shows what the agent says and does, live, and Ctrl-C leaves the run',
  { timeout: 120_000 },
  async () => {
    const agents = await createAgents([
      { say: 'I look around first.', ...command(untilFile('used')) },
      { say: 'All is well.' },
    ]);
    const { project } = agents;
    await serve(project);
    const runId = await detach(agents, '--mode', 'full-auto', 'look around');
    const watch = () => {
      const child = project.start('attach');
      const seen = { text: '' };
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk: Buffer) => void (seen.text += String(chunk)));
      return { child, seen, ended: finish(child) };
    };
    const [leaving, staying] = [watch(), watch()];
    await untilAt(agents, runId, 'used');
    for (const { seen } of [leaving, staying])
      await until('it is seen', () => /I look around first[^]*touch at-used/.test(seen.text), 30_000);
    leaving.child.kill('SIGINT');
    await leaving.ended;
    expect(leaving.child.signalCode).toBe('SIGINT');
    letGo(agents, runId, 'used');
    expect((await staying.ended).code).toBe(0);
    expect(staying.seen.text).toMatch(/All is well[^]*finished/);
    await untilStatus(project, runId, 'done');
  },
);

it(
  'logs --verify prints all that a check said, and says where there was none',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const check = 'for i in $(seq 40); do echo line $i; done; exit 1';
    const ran = await project.caisson('run', '--verify', check, '--verify-lens', 'verify', '--', 'true');
    const [, runId = ''] = /all of it: caisson logs (\S+) --verify/.exec(ran.stdout + ran.stderr) ?? [];
    const { stdout } = await project.caisson('logs', runId, '--verify');
    expect(stdout.split('\n').filter((line) => line.startsWith('line '))).toHaveLength(40);
    const { runId: plain } = await project.run('--', 'true');
    expect(await project.caisson('logs', plain, '--verify')).toMatchObject({ code: 2 });
  },
);

import { expect, it } from 'vitest';
import { createProject, parseLines } from './project.ts';

const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

it('a run is part of the trace that its caller names, and so is what runs in the sandbox', async () => {
  const project = createProject({ env: { TRACEPARENT: CALLER } });
  const command = ['printenv', 'TRACEPARENT'];
  const ran = await project.caisson(
    ...['run', '-o', 'ndjson', '--verify', command.join(' '), '--', ...command],
  );
  expect(ran).toMatchObject({ code: 0 });
  const events = parseLines(ran.stdout);
  const [accepted] = events;
  expect(accepted).toMatchObject({ type: 'dispatch.accepted', callerTrace: CALLER });
  const trace = accepted?.trace ?? '';
  expect(trace).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
  expect((await project.caisson('logs', '--stdout')).stdout.trim()).toBe(trace);
  expect(events.find(({ type }) => type === 'script.ran')).toMatchObject({ stdout: `${trace}\n` });
});

it('a setup script and the agent after it are in the same trace', async () => {
  const config = 'workspace: { setup: "printenv TRACEPARENT > trace.txt" }\n';
  const project = createProject({ env: { TRACEPARENT: CALLER }, config });
  const run = await project.run('--', 'sh', '-c', 'printenv TRACEPARENT; cat trace.txt');
  const [own, setup] = run.stdout.trim().split('\n');
  expect(own).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
  expect(setup).toBe(own);
});

it.each(['00-00000000000000000000000000000000-b7ad6b7169203331-01', 'nonsense'])(
  'a TRACEPARENT that is none (%s) begins a trace of its own',
  async (nonsense) => {
    const project = createProject({ env: { TRACEPARENT: nonsense } });
    const ran = await project.caisson('run', '-o', 'ndjson', '--', 'true');
    expect(ran).toMatchObject({ code: 0 });
    const [accepted] = parseLines(ran.stdout);
    expect(accepted).not.toHaveProperty('callerTrace');
    expect(accepted?.trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  },
);

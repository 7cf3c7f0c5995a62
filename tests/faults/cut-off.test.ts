/** The only way out of a sandbox is cut while an agent talks: the run says so and ends; nothing waits for ever. */
import { readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, until, type Project } from '../e2e/project.ts';
import { readCommand, treeOf } from './processes.ts';

/** The relay's own processes: the listener, and one pair for each connection. */
function findRelay(hostPid: number): number[] {
  return treeOf(hostPid).filter((pid) => / relay \d+ /.test(readCommand(pid)) && isInterpreter(pid));
}

function isInterpreter(pid: number): boolean {
  try {
    return /\/(perl|node)[^/]*$/.test(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return false; // it ended while we looked
  }
}

/** Runs until `isTalking`, kills the relay, and returns how the run ended. */
async function cutOff(
  project: Project,
  isTalking: () => boolean,
  ...args: string[]
): Promise<DispatchResult & { left: number[] }> {
  await project.trust();
  const host = project.start('run', '-o', 'json', ...args);
  const ended = finish(host);
  await until('the agent talks', isTalking);
  const relay = findRelay(host.pid ?? 0);
  const tree = treeOf(host.pid ?? 0);
  expect(relay.length).toBeGreaterThan(1);
  for (const pid of relay) process.kill(pid, 'SIGKILL');
  const { stdout, stderr } = await ended;
  if (stdout === '') throw new Error(`no result: ${stderr}`);
  return { ...(JSON.parse(stdout) as DispatchResult), left: tree.filter((pid) => readCommand(pid) !== '') };
}

describe('a relay that is killed', { timeout: 90_000 }, () => {
  it('while an agent reads from its model: the run fails without a connection, once, and says so', async () => {
    const key = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';
    const model = await startModelServer({
      script: [{ turns: [{ say: 'never', fault: 'stall' }] }],
      apiKey: key,
    });
    onTestFinished(() => model.stop());
    const project = createProject({
      env: { MODEL_KEY: key },
      config: `runtimes:\n  native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: "claude-sonnet-4-5" }\n`,
    });
    const run = await cutOff(
      project,
      () => model.modelRequests().length > 0,
      ...['--runtime', 'native', 'say it'],
    );
    expect(run).toMatchObject({
      status: 'error',
      failure: { reason: 'provider-failed', cause: 'no-connection', step: 11 },
      left: [],
    });
    expect(run.failure?.detail).toContain('could not reach its model, or the connection broke');
    const types = (await project.events(run.runId)).map(({ type }) => type);
    expect(types.filter((type) => type === 'attempt.launched')).toHaveLength(1);
  });

  it('while a command reads from a granted host: the command fails and reports why', async () => {
    let isTalking = false;
    const site = createServer((_request, response) => {
      isTalking = true;
      response.write('the beginning'); // and never the end
    });
    await new Promise<void>((resolve) => {
      site.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      site.closeAllConnections();
      site.close();
    });
    const { port } = site.address() as AddressInfo;
    const run = await cutOff(
      createProject(),
      () => isTalking,
      ...['--network', `hosts=127.0.0.1:${port}`, '--'],
      ...['curl', '-sS', '--noproxy', '', `http://127.0.0.1:${port}/`],
    );
    expect(run).toMatchObject({
      status: 'error',
      failure: { reason: 'provider-failed', cause: 'exit-code', step: 11 },
      left: [],
    });
    expect(run.failure?.detail).toContain('curl:');
  });
});

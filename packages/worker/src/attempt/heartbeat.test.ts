import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readTree } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { findWait } from './heartbeat.ts';

it('an agent that ended while its sandbox is still there leaves a pipe open', async () => {
  const agent = spawn('sleep', ['60']);
  onTestFinished(() => void agent.kill('SIGKILL'));
  await once(agent, 'spawn');
  const isRunning = (): boolean => agent.exitCode === null && agent.signalCode === null;
  const running = { agentPid: () => (isRunning() ? (agent.pid ?? null) : null) };
  const look = () => findWait(running, readTree(agent.pid ?? 0));
  expect(look()).toBeNull();
  agent.kill('SIGSTOP');
  await expect.poll(look).toBe('stopped');
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  expect(look()).toBe('pipe-open');
});

/** The signing key in a real ssh-agent: the engine's user never has it, and no other key steps in for it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { ListedKey } from '@caisson/engine';
import { createProject, type Project } from './project.ts';
import { keyFile, startSigningAgent } from './signing-agent.ts';

async function runDone(project: Project): Promise<{ runId: string; stderr: string }> {
  const run = await project.run('--', 'sh', '-c', 'echo work > new.txt');
  expect(run.status).toBe('done');
  return { runId: run.runId, stderr: run.cli.stderr };
}

it(
  'signs with the only Ed25519 key of the agent, makes no key file, and is verified without the agent',
  { timeout: 60_000 },
  async () => {
    const agent = await startSigningAgent();
    agent.add('rsa', 'rsa');
    agent.add('mine');
    const project = createProject({ config: `keys: { signer: 'ssh-agent:${agent.socket}' }\n` });
    const { runId } = await runDone(project);
    const keys = JSON.parse((await project.caisson('keys', '-o', 'json')).stdout) as ListedKey[];
    expect(keys).toMatchObject([{ origin: 'agent', signs: true }]);
    expect(existsSync(keyFile(project))).toBe(false);
    await agent.stop();
    expect((await project.caisson('verify', runId)).code).toBe(0);
    const mail = join(dirname(project.root), 'mail');
    mkdirSync(mail);
    await project.caisson('export', runId, '--to', join(mail, 'proof.tar'));
    const exported = await project.caisson('keys', '--export', '--id', keys[0]?.keyId ?? '');
    writeFileSync(join(mail, 'key.pem'), exported.stdout);
    const stranger = createProject({ git: false });
    const seen = await stranger.caisson('verify', join(mail, 'proof.tar'), '--key', join(mail, 'key.pem'));
    expect(seen.code).toBe(0);
    const listed = await project.caisson('keys');
    expect(listed.stdout).toContain('agent');
    expect(listed.stderr).toMatch(/cannot sign: (no process listens there|there is no such socket)/);
  },
);

it(
  'an agent that is locked or gone leaves the run unsealed with a warning, and it is sealed later',
  { timeout: 60_000 },
  async () => {
    const agent = await startSigningAgent();
    agent.add('mine');
    const project = createProject({ config: `keys: { signer: 'ssh-agent:${agent.socket}' }\n` });
    await runDone(project);
    agent.lock(true);
    const locked = await runDone(project);
    expect(locked.stderr).toMatch(
      /is not sealed: the ssh-agent at .* holds no Ed25519 key, or it is locked.*caisson seal --all/s,
    );
    expect((await project.events(locked.runId)).map(({ type }) => type)).not.toContain('evidence.sealed');
    const unsealed = await project.caisson('verify', locked.runId);
    expect([unsealed.code, unsealed.stdout]).toEqual([9, expect.stringMatching(/has no seal.*cannot sign/s)]);
    const refused = await project.caisson('seal', '--all');
    expect([refused.code, refused.stderr]).toEqual([9, expect.stringContaining('cannot sign')]);
    agent.lock(false);
    const sealed = await project.caisson('seal', '--all', '-o', 'json');
    expect(JSON.parse(sealed.stdout)).toEqual({ sealed: [locked.runId] });
    expect((await project.caisson('verify', locked.runId)).code).toBe(0);
    expect((await project.caisson('seal', locked.runId)).stdout).toContain('nothing to seal');
    await agent.stop();
    const gone = await runDone(project);
    expect(gone.stderr).toContain('cannot sign');
    expect(existsSync(keyFile(project))).toBe(false);
  },
);

it(
  'of several keys the chosen one signs, and a key that takes the place of the usual one does not',
  { timeout: 60_000 },
  async () => {
    const agent = await startSigningAgent();
    agent.add('mine');
    const other = agent.add('other');
    const config = (more: string): string => `keys: { signer: 'ssh-agent:${agent.socket}'${more} }\n`;
    const project = createProject({ config: config('') });
    const unclear = await runDone(project);
    expect(unclear.stderr).toContain('has several Ed25519 keys that could sign');
    expect(unclear.stderr).toContain(`${other} (other)`);
    project.write('caisson.yaml', config(', identity: mine'));
    expect((await project.caisson('seal', unclear.runId)).code).toBe(0);
    // From now on the usual one is known, and distinguished from the others.
    project.write('caisson.yaml', config(''));
    const usual = await runDone(project);
    expect((await project.caisson('verify', usual.runId)).code).toBe(0);
    agent.remove('mine');
    const changed = await runDone(project);
    expect(changed.stderr).toContain('holds another key than the one that signed before');
    expect((await project.caisson('verify', changed.runId)).code).toBe(9);
    project.write('caisson.yaml', config(`, identity: '${other}'`));
    expect((await project.caisson('seal', changed.runId)).code).toBe(0);
    expect((await project.caisson('verify', changed.runId)).code).toBe(0);
    project.write('caisson.yaml', config(', identity: nobody'));
    expect((await runDone(project)).stderr).toContain('has no Ed25519 key "nobody"');
  },
);

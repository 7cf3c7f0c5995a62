/** A repository behind ssh: a real sshd on this machine, whose key must be known before anything is sent. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject, until } from './project.ts';

interface Sshd {
  readonly port: number;
  /** The private key that it lets in. */
  readonly identity: string;
  /** A list with its key. */
  readonly knownHosts: string;
}

async function startSshd(): Promise<Sshd> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-sshd-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  const port = await findFreePort();
  writeFileSync(at('authorized'), readFileSync(at('user.pub')));
  chmodSync(at('authorized'), 0o600);
  writeFileSync(at('known'), `[127.0.0.1]:${port} ${readFileSync(at('host.pub'), 'utf8')}`);
  const config = {
    ...{ ListenAddress: `127.0.0.1:${port}`, HostKey: at('host'), AuthorizedKeysFile: at('authorized') },
    ...{ PidFile: 'none', StrictModes: 'no', UsePAM: 'no', PasswordAuthentication: 'no' },
    ...{ KbdInteractiveAuthentication: 'no', PermitRootLogin: 'prohibit-password' },
  };
  writeFileSync(
    at('config'),
    Object.entries(config)
      .map((entry) => `${entry.join(' ')}\n`)
      .join(''),
  );
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true }); // where it gives up its rights
  const sshd = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', at('config')], { stdio: 'ignore' });
  onTestFinished(() => void sshd.kill('SIGKILL'));
  await until('sshd listens', () => canConnect(port));
  return { port, identity: at('user'), knownHosts: at('known') };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.on('connect', () => socket.end());
  });
}

describe('a repository behind ssh', { timeout: 120_000 }, () => {
  it('is fetched from and pushed to when its host key is known, and left alone when it is not', async () => {
    const remote = createBareRemote();
    const { port, identity, knownHosts } = await startSshd();
    const { username } = userInfo();
    const url = `ssh://${username}@127.0.0.1:${port}${remote.path}`;
    const settings = (list: string): string => `git: { knownHosts: "${list}", identity: "${identity}" }\n`;
    const project = createProject({ git: false, config: settings(knownHosts) });
    const options = ['--repo', url, '--branch', 'work', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', 'cat a.txt; echo x >work.txt');
    expect([run.cli.code, run.stdout, run.push?.status]).toEqual([0, 'one\n', 'pushed']);
    expect(remote.find('work')).toBe(run.branch?.commit);

    writeFileSync(`${knownHosts}.other`, readFileSync(knownHosts, 'utf8').replace(/AAAA.*/, otherKey()));
    for (const list of ['/dev/null', `${knownHosts}.other`]) {
      project.write('caisson.yaml', settings(list));
      const refused = await project.run('--repo', url, '--', 'true');
      expect([refused.cli.code, refused.failure?.detail]).toEqual([
        1,
        expect.stringMatching(/host key is known|HOST IDENTIFICATION HAS CHANGED/),
      ]);
    }
  });
});

function otherKey(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'key')]);
  return readFileSync(join(folder, 'key.pub'), 'utf8').split(' ')[1] ?? '';
}

/** A run that was started over ssh, and whose connection breaks: a real sshd on loopback, a client that is killed. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pidsWith, until } from '../e2e/project.ts';
import { BIN } from '../e2e/users.ts';
import { becomePerson, PEOPLE, type Person } from './person.ts';

const SSHD = '/usr/sbin/sshd';
/** In the command lines of host, sandbox and command. */
const MARK = 'sleep 3217';
const COMMAND = `echo half > work.txt; echo written; exec ${MARK}`;
const LIMIT_MS = 60_000;

interface Server {
  connect(terminal: '-tt' | '-T', line: string): ChildProcess;
  stop(): void;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startServer({ account }: Person): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-sshd-'));
  const port = await freePort();
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  mkdirSync('/run/sshd', { recursive: true });
  execFileSync('usermod', ['--password', '*', '--shell', '/bin/bash', account ?? '']); // a locked account may not log in
  const settings = [
    ...[`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${folder}/host`, 'PidFile none', 'UsePAM no'],
    ...['StrictModes no', `AuthorizedKeysFile ${folder}/user.pub`, `AllowUsers ${account ?? ''}`],
  ];
  writeFileSync(join(folder, 'settings'), `${settings.join('\n')}\n`);
  execFileSync('chmod', ['755', folder]);
  const server = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'settings')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('sshd listens', () => said.includes('Server listening'), LIMIT_MS);
  const options = [
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
  ];
  return {
    connect: (terminal, line) =>
      spawn(
        'ssh',
        [
          '-F',
          'none',
          '-i',
          join(folder, 'user'),
          '-p',
          String(port),
          ...options,
          terminal,
          `${account}@127.0.0.1`,
          line,
        ],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      ),
    stop() {
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Only root can start a server that logs in another user. */
describe.each(PEOPLE.filter((who) => who === 'ordinary user'))('a connection of an %s that breaks', (who) => {
  let person: Person;
  let server: Server;
  beforeAll(async () => {
    person = becomePerson(who);
    server = await startServer(person);
  });
  afterAll(() => {
    server.stop();
    person.leave();
  });

  async function breakOff(terminal: '-tt' | '-T', name: string): Promise<string> {
    const root = person.makeFolder(name);
    person.sh(
      root,
      'git init -q; git -c user.name=Me -c user.email=me@example.invalid commit -q --allow-empty -m a',
    );
    const line = `cd ${root} && exec ${process.execPath} ${BIN} run -- sh -c '${COMMAND}'`;
    const client = server.connect(terminal, line);
    let said = '';
    client.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('it works', () => said.includes('written'), LIMIT_MS);
    client.kill('SIGKILL');
    await once(client, 'close');
    return root;
  }

  it('with a terminal stops the run, keeps its work and leaves no process', async () => {
    const root = await breakOff('-tt', 'with');
    await until('nothing is left', () => pidsWith(MARK).length === 0, LIMIT_MS);
    const { stdout } = await person.caisson(root, [], 'runs', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'interrupted' }]);
    expect((await person.caisson(root, [], 'diff')).stdout).toContain('+half');
  });

  it('without a terminal sends no signal: the run goes on, and can be stopped with its work', async () => {
    const root = await breakOff('-T', 'without');
    const [run] = JSON.parse((await person.caisson(root, [], 'runs', '-o', 'json')).stdout) as object[];
    expect(run).toMatchObject({ status: 'running' });
    const cancelled = await person.caisson(root, [], 'cancel', 'latest', '-o', 'json');
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ outcome: 'asked' });
    await until('nothing is left', () => pidsWith(MARK).length === 0, LIMIT_MS);
    expect((await person.caisson(root, [], 'diff')).stdout).toContain('+half');
  });
});

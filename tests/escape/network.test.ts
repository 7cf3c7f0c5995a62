import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCell, removeCell, runPerl, runShell, type Cell } from './run-inside.ts';

/** A folder that no rule hides: sockets in it are visible unless they are covered one by one. */
const VISIBLE = join(import.meta.dirname, '../../node_modules/.cache');

const CONNECT_UNIX =
  'use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, pack_sockaddr_un($ARGV[0] =~ s/^@/\\0/r)) ? "open" : "closed";';
const CONNECT_INET =
  'use Socket; socket(my $s, AF_INET, SOCK_STREAM, 0); print connect($s, pack_sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) ? "open" : "closed";';
const CONNECT_INET6 =
  'use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6); socket(my $s, AF_INET6, SOCK_STREAM, 0); print connect($s, pack_sockaddr_in6($ARGV[1], inet_pton(AF_INET6, $ARGV[0]))) ? "open" : "closed";';

describe('the network from inside the sandbox', () => {
  let cell: Cell;
  let folder: string;
  const servers: Server[] = [];
  let connections = 0;

  async function listen(where: { host: string; port: number } | { path: string }): Promise<number> {
    const server = createServer((socket) => {
      connections += 1;
      socket.end();
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, resolve);
    });
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  beforeAll(() => {
    mkdirSync(VISIBLE, { recursive: true });
    folder = mkdtempSync(join(VISIBLE, 'sockets-'));
    cell = createCell();
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    rmSync(folder, { recursive: true, force: true });
    removeCell(cell);
  });

  const runWith = (program: string, ...args: (string | number)[]): Promise<{ stdout: string }> =>
    runShell(cell, `perl -e '${program}' ${args.map((arg) => `'${arg}'`).join(' ')}`);

  it('loopback services of the host are not there', async () => {
    const port = await listen({ host: '127.0.0.1', port: 0 });
    expect((await runWith(CONNECT_INET, '127.0.0.1', port)).stdout).toBe('closed');
    expect(connections).toBe(0);
  });

  it('IPv6 loopback services of the host are not there', async () => {
    const port = await listen({ host: '::1', port: 0 }).catch(() => 9);
    expect((await runWith(CONNECT_INET6, '::1', port)).stdout).toBe('closed');
    expect(connections).toBe(0);
  });

  it('abstract sockets of the host are not there', async () => {
    const name = `caisson-escape-${process.pid}`;
    await listen({ path: `\0${name}` });
    expect((await runWith(CONNECT_UNIX, `@${name}`)).stdout).toBe('closed');
    expect(connections).toBe(0);
  });

  it('a socket in a visible folder of the host is covered, and one that was bound is reachable', async () => {
    const path = join(folder, 'daemon.sock');
    await listen({ path });
    expect((await runWith(CONNECT_UNIX, path)).stdout).toBe('closed');
    expect(connections).toBe(0);
    const bound = await runShell(cell, `perl -e '${CONNECT_UNIX}' /run/caisson/broker.sock`, {
      binds: [{ source: path, target: '/run/caisson/broker.sock', writable: true }],
    });
    expect(bound.stdout).toBe('open');
  });

  it('a socket that a daemon bound by a relative name is covered as well', async () => {
    const bind =
      'use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un("near.sock")) && listen($s, 9); $| = 1; print "ready\\n"; <STDIN>';
    const daemon = spawn('perl', ['-e', bind], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(daemon.stdout, 'data');
      expect((await runWith(CONNECT_UNIX, join(folder, 'near.sock'))).stdout).toBe('closed');
    } finally {
      daemon.stdin.end();
      await once(daemon, 'exit');
    }
  });

  it('sockets that come and go on the host do not disturb a start', async () => {
    let isChurning = true;
    const churn = (async () => {
      for (let round = 0; isChurning; round += 1) {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen(join(folder, `${round % 3}.sock`), resolve));
        await new Promise((resolve) => setImmediate(resolve));
        await new Promise((resolve) => server.close(resolve));
      }
    })();
    try {
      for (let start = 0; start < 10; start += 1) {
        expect((await runShell(cell, 'echo well')).stdout).toBe('well\n');
      }
    } finally {
      isChurning = false;
      await churn;
    }
  });

  it('the sockets of docker, dbus and the ssh agent are gone', async () => {
    const { stdout } = await runShell(
      cell,
      'ls -A /run; ls -A /var/run/; ls -A /tmp | grep -v caisson-escape; env | grep -i -e SSH_AUTH -e DBUS -e DOCKER; true',
    );
    expect(stdout).toBe('');
  });

  it('the metadata address, the outside and name servers cannot be reached', async () => {
    expect((await runWith(CONNECT_INET, '169.254.169.254', 80)).stdout).toBe('closed');
    expect((await runWith(CONNECT_INET, '192.0.2.1', 443)).stdout).toBe('closed');
    expect((await runWith(CONNECT_INET6, '2001:db8::1', 443)).stdout).toBe('closed');
    const { stdout } = await runPerl(
      cell,
      'use Socket; print defined(gethostbyname("example.com")) ? "known" : "unknown"; socket(my $s, AF_INET, SOCK_DGRAM, 0); print send($s, "x", 0, pack_sockaddr_in(53, inet_aton("192.0.2.1"))) ? " sent" : " unsent";',
    );
    expect(stdout).toBe('unknown unsent');
  });

  it('there is one interface, and it is the loopback of the sandbox', async () => {
    const { stdout } = await runShell(
      cell,
      "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route",
    );
    expect(stdout).toBe('lo\n');
  });

  it('raw and packet sockets are refused', async () => {
    const { stdout } = await runPerl(
      cell,
      'use Socket; print socket(my $s, AF_INET, SOCK_RAW, 1) ? "raw" : "refused"',
    );
    expect(stdout).toBe('refused');
  });
});

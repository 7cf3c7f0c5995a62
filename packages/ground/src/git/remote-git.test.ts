import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseRemoteAddress } from './remote-address.ts';
import { fetchRef, listRemoteRefs, type RemoteGitOptions } from './remote-git.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-remote-git-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A repository `remote` with one commit, and an empty one `local`. */
function createRepositories(): string {
  const folder = createFolder();
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: folder });
  git('init', '-q', '-b', 'main', 'remote');
  git('init', '-q', '--bare', 'local');
  const author = ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid'];
  git('-C', 'remote', ...author, 'commit', '-q', '--allow-empty', '-m', 'first');
  return folder;
}

function optionsFor(address: string, cwd: string, token?: string): RemoteGitOptions {
  const access = token === undefined ? {} : { token };
  return { remote: parseRemoteAddress(address, cwd), access, cwd, timeoutMs: 20_000 };
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/app.git`;
}

const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;

/** Answers a list of refs with one HEAD, which names the target; as git's protocol 2 has it. */
const serveHead = (target: string): Promise<string> =>
  serve((request, response) => {
    const isFirst = request.method === 'GET';
    const kind = isFirst ? 'advertisement' : 'result';
    response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${kind}` });
    const first = `${packet('# service=git-upload-pack\n')}0000${packet('version 2\n')}${packet('ls-refs\n')}0000`;
    response.end(isFirst ? first : `${packet(`${'a'.repeat(40)} HEAD symref-target:${target}\n`)}0000`);
  });

describe('the refs of a remote', () => {
  it.each([
    ['refs/heads/main', 'refs/heads/main'],
    ['refs/heads/\u001b[31mred', null],
    ['refs/heads/../../config', null],
    ['main', null],
  ])('say what HEAD names, where that is a name of a ref: %j', async (target, headRef) => {
    const { ids, ...found } = await listRemoteRefs(optionsFor(await serveHead(target), createFolder()), [
      'HEAD',
    ]);
    expect([found.headRef, ids.get('HEAD')]).toEqual([headRef, 'a'.repeat(40)]);
  });
});

describe('a remote that cannot be read', () => {
  it('because nothing is there is not tried again, and the user told what to check', async () => {
    const folder = createFolder();
    const url = await serve((_, response) => response.writeHead(404).end());
    for (const address of [url, join(folder, 'none')])
      await expect(listRemoteRefs(optionsFor(address, folder), ['HEAD'])).rejects.toMatchObject({
        retryable: false,
        problem: 'not-found',
        remedy: expect.stringContaining('Check the address') as string,
      });
  });

  it('because it fails is tried again', async () => {
    const folder = createFolder();
    const url = await serve((_, response) => response.writeHead(503).end());
    const gone = await serve((request) => request.socket.destroy());
    for (const address of [url, gone])
      await expect(listRemoteRefs(optionsFor(address, folder), ['HEAD'])).rejects.toMatchObject({
        retryable: true,
      });
  });

  it('and repeats the token, as it is or as it was sent, has no part of it in the message', async () => {
    const token = 'ghp_planted0token1that2must3not4leak5';
    const url = await serve((request, response) => {
      const sent = request.headers.authorization;
      if (sent === undefined)
        return response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      const plain = Buffer.from(sent.replace('Basic ', ''), 'base64').toString('utf8');
      return response.writeHead(500, { 'content-type': 'text/plain' }).end(`no: ${sent}\nno: ${plain}\n`);
    });
    const reading = listRemoteRefs(optionsFor(url, createFolder(), token), ['HEAD']);
    await expect(reading).rejects.toThrow(
      'remote: no: Basic [redacted:gitToken]; remote: no: x-access-token:[redacted:gitToken]',
    );
  });
});

it('a server with files of a repository and no git is refused, and nothing is fetched', async () => {
  const folder = createRepositories();
  execFileSync('git', ['clone', '-q', '--bare', 'remote', 'app.git'], { cwd: folder });
  execFileSync('git', ['update-server-info'], { cwd: join(folder, 'app.git') });
  const url = await serve((request, response) => {
    const file = join(folder, new URL(request.url ?? '/', 'http://localhost').pathname);
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.end(readFileSync(file));
  });
  const order = { gitDir: join(folder, 'local'), source: 'refs/heads/main', ref: 'refs/x/main' };
  await expect(fetchRef(optionsFor(url, folder), { ...order, maxBytes: 1024 ** 2 })).rejects.toMatchObject({
    retryable: false,
    remedy: expect.stringContaining("speaks git's protocol") as string,
  });
  expect(existsSync(join(folder, 'local/refs/x/main'))).toBe(false);
});

describe('the limit on the size of files', () => {
  const MODULE = join(import.meta.dirname, 'remote-git.ts');
  /** Fetches in a process whose own limit, in blocks of 512 bytes, cannot be raised: root loses the right to. */
  function fetchBelow(blocks: number, maxBytes: number): string {
    const folder = createRepositories();
    mkdirSync(join(folder, 'cwd'));
    const options = optionsFor(join(folder, 'remote'), join(folder, 'cwd'));
    const order = { gitDir: join(folder, 'local'), source: 'refs/heads/main', ref: 'refs/x/main', maxBytes };
    const script = `import { fetchRef, listRemoteRefs } from ${JSON.stringify(MODULE)};
      const options = ${JSON.stringify(options)};
      await listRemoteRefs(options, ['HEAD']);
      await fetchRef(options, ${JSON.stringify(order)});`;
    const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_resource'] : [];
    const node = [process.execPath, '--input-type=module', '-e', script];
    const argv = [...drop, 'sh', '-c', 'ulimit -f "$0" && exec "$@"', String(blocks), ...node];
    execFileSync(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    return join(folder, 'local/refs/x/main');
  }

  it('stays where it is lower already', () => {
    expect(existsSync(fetchBelow(4096, 1024 ** 3))).toBe(true);
  });

  it('ends a fetch that writes more', async () => {
    const folder = createRepositories();
    const order = { gitDir: join(folder, 'local'), source: 'refs/heads/main', ref: 'refs/x/main' };
    const options = optionsFor(join(folder, 'remote'), folder);
    await expect(fetchRef(options, { ...order, maxBytes: 512 })).rejects.toThrow('could not be fetched');
    await expect(fetchRef(options, { ...order, maxBytes: 1024 ** 2 })).resolves.toBeUndefined();
  });
});

/** What the user's code can reach: the project read-only, its own folder, and nothing else. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStarter, startResident, type OpenStarter } from './fixtures/open-starter.ts';

/** Emits what became of each attempt: its value, or the code of its error. */
const tries = (attempts: Record<string, string>): string => `
  import * as fs from 'node:fs';
  import * as net from 'node:net';
  import { once } from 'node:events';
  const found = async (work) => { try { return String(await work()); } catch (error) { return error.code ?? String(error); } };
  const connect = async (...to) => { const socket = net.connect(...to); await once(socket, 'connect'); return 'connected'; };
  export default { async compute({ emit, projectRoot }) {
    emit('found', { ${Object.entries(attempts)
      .map(([name, code]) => `${name}: await found(() => ${code})`)
      .join(', ')} });
  } };`;

async function find(open: OpenStarter, attempts: Record<string, string>, grant = {}): Promise<unknown> {
  const resident = await startResident(open.starter, open.plan('senses', { tries: tries(attempts) }, grant));
  const { signals, failure } = await resident.compute('tries');
  expect(failure).toBeUndefined();
  return signals[0]?.payload;
}

const read = (path: string): string => `fs.readFileSync(${JSON.stringify(path)}, 'utf8')`;

it('keys, the state of Caisson and of other groups, sockets and the network are out of reach', async () => {
  const open = await openStarter();
  const { stateDir, root } = open;
  const other = join(stateDir, 'residents', 'senses.other', 'state');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, 'secret'), 'of another group');
  const key = join(homedir(), `.ssh-of-test-${process.pid}`);
  writeFileSync(key, 'private');
  onTestFinished(() => void import('node:fs').then(({ rmSync }) => rmSync(key)));
  const socket = join(root, 'host.sock');
  const [local, tcp] = [createServer().listen(socket), createServer().listen(0, '127.0.0.1')];
  onTestFinished(() => void [local.close(), tcp.close()]);
  await Promise.all([once(local, 'listening'), once(tcp, 'listening')]);
  const { port } = tcp.address() as { port: number };
  expect(
    await find(open, {
      key: read(key),
      ledger: `fs.readdirSync(${JSON.stringify(stateDir)}).join()`,
      group: read(join(other, 'secret')),
      socket: `connect(${JSON.stringify(socket)})`,
      network: `connect(${port}, '127.0.0.1')`,
      project: `fs.writeFileSync(projectRoot + '/made', '')`,
      parent: `fs.readFileSync('/proc/' + process.ppid + '/environ', 'utf8').includes('CAISSON_JOB_FILE')`,
    }),
  ).toEqual({
    key: 'ENOENT',
    ledger: '',
    group: 'ENOENT',
    socket: expect.stringMatching(/^E/),
    network: 'ECONNREFUSED',
    project: 'EROFS',
    parent: expect.stringMatching(/^(?:false|E.*)$/),
  });
});

it('the private folders of the user are out of reach', async () => {
  const open = await openStarter();
  const paths = open.rooms.settings.privatePaths();
  const list = (path: string): string =>
    `(fs.statSync(${JSON.stringify(path)}).isDirectory() ? fs.readdirSync : fs.readFileSync)(${JSON.stringify(path)}).length`;
  const attempts = Object.fromEntries(paths.map((path, at) => [`p${at}`, list(path)]));
  const found = Object.values((await find(open, attempts)) as Record<string, string>);
  expect(found.filter((each) => each !== '0' && each !== 'ENOENT')).toEqual([]);
});

it('files of the project that hold passwords cannot be read, the rest can, and git works', async () => {
  const open = await openStarter();
  const files = ['.env', '.env.local', '.npmrc', '.git/config', '.git/credentials', 'environment'];
  mkdirSync(join(open.root, '.git'), { recursive: true });
  for (const file of files) writeFileSync(join(open.root, file), 'password');
  const git = `import('node:child_process').then((c) => c.execFileSync('git', ['-C', projectRoot, 'rev-parse', '--is-inside-work-tree']).toString().trim())`;
  const attempts = {
    ...Object.fromEntries(files.map((file, at) => [`f${at}`, read(join(open.root, file))])),
    git,
  };
  const found = Object.values((await find(open, attempts)) as Record<string, string>);
  expect(found).toEqual(['EACCES', 'EACCES', 'EACCES', '', 'EACCES', 'password', 'true']);
});

it('granted folders are visible, and only a granted one is writable', async () => {
  const open = await openStarter();
  const [shown, written] = ['shown', 'written'].map((name) =>
    join(open.root, '..', `${name}-${process.pid}`),
  );
  for (const folder of [shown ?? '', written ?? '']) {
    mkdirSync(folder);
    onTestFinished(() => void import('node:fs').then(({ rmSync }) => rmSync(folder, { recursive: true })));
    writeFileSync(join(folder, 'file'), 'content');
  }
  const grant = { read: [shown], write: [written] };
  const attempts = {
    read: read(join(shown ?? '', 'file')),
    refused: `fs.writeFileSync(${JSON.stringify(join(shown ?? '', 'file'))}, 'x')`,
    written: `fs.writeFileSync(${JSON.stringify(join(written ?? '', 'file'))}, 'changed')`,
  };
  expect(await find(open, attempts, grant)).toEqual({
    read: 'content',
    refused: 'EROFS',
    written: 'undefined',
  });
  expect(readFileSync(join(written ?? '', 'file'), 'utf8')).toBe('changed');
});

it.each(['read', 'write'])('a folder for %s that became a link since is not shown', async (key) => {
  const open = await openStarter();
  const [private_, granted] = [join(open.root, 'private'), join(open.root, 'granted')];
  mkdirSync(private_);
  symlinkSync('private', granted);
  const plan = open.plan('senses', { tries: tries({}) }, { [key]: [granted] });
  const resident = await startResident(open.starter, plan);
  const detail = `${granted} is not shown: a link leads from it to ${private_}.`;
  expect(await resident.ended).toEqual({ why: 'not-started', detail, stderrTail: '' });
});

it('a grant opens nothing of what no sandbox shows: state, keys, settings of the user', async () => {
  const open = await openStarter();
  const [own = ''] = open.rooms.settings.privatePaths();
  for (const folder of [open.stateDir, join(open.stateDir, 'runtime'), own, join(own, 'inside')])
    for (const how of ['read', 'write']) {
      mkdirSync(folder, { recursive: true });
      const plan = open.plan('senses', { tries: tries({}) }, { [how]: [folder] });
      const resident = await startResident(open.starter, plan);
      expect((await resident.ended).detail).toMatch(/^\S+ is not shown: no sandbox shows what is in \S+\.$/);
    }
});

it('a file is not shown as a granted folder', async () => {
  const open = await openStarter();
  const granted = join(open.root, 'granted');
  writeFileSync(granted, '');
  const resident = await startResident(
    open.starter,
    open.plan('senses', { tries: tries({}) }, { read: [granted] }),
  );
  expect((await resident.ended).detail).toBe(`${granted} is not shown: it is not a folder.`);
});

it('a granted host is reached through the proxy, another one is refused', async () => {
  const open = await openStarter();
  const { createServer: createHttp } = await import('node:http');
  const server = createHttp((_request, response) => response.end('served')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const proxied = (to: number): string => `new Promise((resolve, reject) => {
    const proxy = new URL(process.env.HTTP_PROXY);
    import('node:http').then(({ get }) => get({ host: proxy.hostname, port: proxy.port, path: 'http://127.0.0.1:${to}/', headers: { host: '127.0.0.1:${to}' } },
      (answer) => { answer.resume(); resolve(answer.statusCode); }).on('error', reject)); })`;
  const grant = { hosts: [`127.0.0.1:${port}`] };
  expect(await find(open, { granted: proxied(port), other: proxied(port === 9 ? 10 : 9) }, grant)).toEqual({
    granted: '200',
    other: '403',
  });
});

it('no code is loaded from a folder that a resident may write to, however it is imported', async () => {
  const open = await openStarter();
  const { root, starter } = open;
  const [out, linked] = [join(root, 'out'), join(root, 'linked.ts')];
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  mkdirSync(join(out, 'pack'), { recursive: true });
  writeFileSync(join(out, 'lib.ts'), 'export default { compute() {} };');
  writeFileSync(join(out, 'lib.cjs'), 'module.exports = {};');
  writeFileSync(join(out, 'pack', 'index.js'), 'module.exports = {};');
  symlinkSync(join(out, 'lib.ts'), linked);
  symlinkSync(join(out, 'pack'), join(root, 'node_modules', 'pack'));
  const sense = 'export default { compute() {} };';
  const plan = open.plan(
    'senses',
    {
      plain: `import '../out/lib.ts'; ${sense}`,
      computed: `await import('../out' + '/lib.ts'); ${sense}`,
      required: `import { createRequire } from 'node:module'; createRequire(import.meta.url)('../out/lib.cjs'); ${sense}`,
      linked: `import '../linked.ts'; ${sense}`,
      packed: `import 'pack'; ${sense}`,
      fine: sense,
    },
    { write: [out] },
  );
  // The grant is of another resident, which could replace the files.
  const resident = await startResident(starter, { ...plan, grant: { ...plan.grant, write: [] } });
  const refused = expect.stringContaining(`a resident may write to ${out}`) as unknown;
  expect(await resident.problems()).toEqual({
    ...{ plain: refused, computed: refused, required: refused, linked: refused, packed: refused },
    fine: undefined,
  });
});

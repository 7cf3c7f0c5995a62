import { expect, it } from 'vitest';
import type { DispatchResult } from '@caisson/protocol';
import { sampleEnvelope } from '../../protocol/src/fixtures/sample-events.ts';
import { findHint, findUnreached } from './format-hint.ts';

const failed = (detail: string, hosts: string[] = []): DispatchResult =>
  ({
    failure: { reason: 'provider-failed', cause: 'exit-code', detail },
    stdout: '',
    stderr: '',
    result: { policy: { grant: { hosts, sandbox: 'bwrap' } } },
  }) as never;

it.each([
  [
    'npm error errno ENOTFOUND\nreason: getaddrinfo ENOTFOUND registry.npmjs.org',
    '--network hosts=registry.npmjs.org:443',
  ],
  ['curl: (6) Could not resolve host: example.com', '--network hosts=example.com:443'],
  ['dial tcp: lookup proxy.golang.org on 127.0.0.1:53: network is unreachable', 'hosts=proxy.golang.org:443'],
  ['fatal: unable to connect: Network is unreachable', '--network hosts=HOST:443'],
  [
    'ERROR: Could not find a version that satisfies the requirement requests (from versions: none)\nERROR: No matching distribution found for requests',
    '--network hosts=pypi.org:443,files.pythonhosted.org:443',
  ],
  [
    "WARNING: Retrying after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object>: Failed to establish a new connection: [Errno -2] Name or service not known')': /simple/requests/",
    '--network hosts=pypi.org:443,files.pythonhosted.org:443',
  ],
  ['sh: 1: vitest: not found', 'vitest is not visible in the sandbox'],
  ['bash: line 1: cargo: command not found', 'cargo is not visible in the sandbox'],
  ['make: cargo: No such file or directory', 'cargo is not visible in the sandbox'],
  ['sh: 1: /home/me/tools/zig/bin/zig: not found', 'sandbox.toolchains: [/home/me/tools/zig]'],
  ['bash: line 1: .venv/bin/python: No such file or directory', '.venv/bin/python, or the program behind it'],
  ['sh: 1: ./run.sh: not found', './run.sh, or the program behind it'],
  [
    'Could not transfer artifact a:b:pom:1 from/to central (https://repo.example/maven2): repo.example: Name or service not known',
    '--network hosts=repo.example:443',
  ],
  ["Error: Cannot find module '@scope/dep/sub'\nRequire stack:", '@scope/dep/sub is not installed'],
  ["ModuleNotFoundError: No module named 'requests'", 'requests is not installed'],
  ["Error: ENOENT: no such file or directory, open '.env'", '--bring .env'],
  ['Could not find rake-13.2.1 in any of the sources (Bundler::GemNotFound)', 'rake-13.2.1 is not installed'],
  [
    'error sending request for url (https://jsr.io/@std/x/meta.json): dns error: Name or service not known',
    '--network hosts=jsr.io:443',
  ],
  ['Cannot connect to the Docker daemon at unix:///var/run/docker.sock.', '--sandbox none'],
  ['Could not find a working container runtime strategy', 'reaches no Docker'],
  ['Error: connect ECONNREFUSED 127.0.0.1:5432', 'port 5432'],
  ['dial tcp [::1]:6379: connect: connection refused', 'port 6379'],
  ['connection to server at "localhost" (127.0.0.1), port 5433 failed: Connection refused', '--network full'],
  ["curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server", 'port 8080'],
  ['cat: config/local.json: No such file or directory', '--bring config/local.json'],
])('%j has a hint with the option', (detail, option) => {
  expect(findHint(failed(detail), true)).toContain(option);
});

it.each([
  'AssertionError: 1 !== 2',
  "Error: Cannot find module './mine.js'",
  'cat: $(reboot): No such file or directory',
  "no such file or directory, open '/etc/../../x'",
])('%j has none', (detail) => {
  expect(findHint(failed(detail), true)).toBeNull();
});

it('a run that did its task has none, whatever it printed', () => {
  expect(
    findHint({ stdout: 'sh: 1: vitest: not found', stderr: '', result: null } as never, true),
  ).toBeNull();
});

it('a run on the network of the machine, or without a sandbox, has no hint about servers of the machine', () => {
  const refused = 'Error: connect ECONNREFUSED 127.0.0.1:5432';
  expect(findHint(failed(refused, ['*']), true)).toBeNull();
  const open = { ...failed('docker.sock'), result: { policy: { grant: { hosts: [], sandbox: 'none' } } } };
  expect(findHint(open as never, true)).toBeNull();
});

it('what an agent says is no evidence; the report of a check is', () => {
  const missing = 'sh: 1: vitest: not found';
  expect(findHint(failed(missing), false)).toBeNull();
  const checked = {
    ...failed(''),
    stdout: 'cargo: not found',
    result: { verify: { passed: false, report: missing } },
  };
  expect(findHint(checked as never, false)).toMatch(/^vitest is not visible/);
});

it('hosts that were granted are named with the one that is missing', () => {
  const detail = 'curl: (6) Could not resolve host: b.example';
  expect(findHint(failed(detail, ['a.example:443']), true)).toBe(
    'this run reaches only a.example:443. Allow what it needs: --network hosts=a.example:443,b.example:443',
  );
  expect(findHint(failed(detail, ['b.example:443']), true)).toBeNull();
});

it.each([
  ['npm error getaddrinfo EAI_AGAIN registry.npmjs.org', 'hosts=registry.npmjs.org:443'],
  ['curl: (56) CONNECT tunnel failed, response 403', 'hosts=HOST:443'],
  ['caisson: pypi.org:443 is not among the hosts granted to this run', 'hosts=pypi.org:443'],
])('a call of an agent that failed with %j is evidence, also if the run did its task', (detail, option) => {
  const unreached = findUnreached(sampleEnvelope('tool.ended', { ok: false, detail }));
  const done = { stdout: '', stderr: '', result: failed('').result } as never;
  expect(findHint(done, false, unreached)).toContain(option);
});

it('a call that worked, or failed for another reason, is none', () => {
  const detail = 'getaddrinfo EAI_AGAIN registry.npmjs.org';
  expect(findUnreached(sampleEnvelope('tool.ended', { ok: true, detail }))).toBeNull();
  expect(findUnreached(sampleEnvelope('tool.ended', { ok: false, detail: '1 test failed' }))).toBeNull();
});

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createManualClock } from '@caisson/ground';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSecrets, SecretUnavailableError, type Secrets, type SecretsOptions } from './index.ts';

const VALUE = 'hunter2-and-more';
let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'secrets-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function create(options: Partial<SecretsOptions> = {}): Secrets {
  return createSecrets({ env: { PATH: '/usr/bin:/bin' }, home: join(base, 'home'), base, ...options });
}

async function failure(work: Promise<string>): Promise<string> {
  const error: unknown = await work.then(
    () => new Error('it was resolved'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SecretUnavailableError);
  return (error as Error).message;
}

describe('env:', () => {
  test('a variable of the host is the value, and an unset one is named', async () => {
    const secrets = create({ env: { TOKEN: VALUE } });
    expect(await secrets.resolve('env:TOKEN')).toBe(VALUE);
    expect(await failure(secrets.resolve('env:OTHER'))).toBe(
      'secret env:OTHER could not be resolved: the environment variable OTHER is not set',
    );
    expect(secrets.check('env:TOKEN')).toBeNull();
    expect(secrets.check('env:OTHER')).toContain('the environment variable OTHER is not set');
  });
});

describe('file:', () => {
  test('a file is found in the project, at home and by its full path; its last line end is left out', async () => {
    mkdirSync(join(base, 'home'));
    for (const path of ['token', 'home/token'])
      writeFileSync(join(base, path), `${VALUE}\n`, { mode: 0o600 });
    const secrets = create();
    for (const ref of ['file:token', 'file:~/token', `file:${join(base, 'token')}`])
      expect(await secrets.resolve(ref)).toBe(VALUE);
  });

  test('a file that others can read is used, with a warning that says what to do', async () => {
    const warnings: string[] = [];
    writeFileSync(join(base, 'token'), VALUE);
    chmodSync(join(base, 'token'), 0o644);
    const secrets = create({ onWarning: (message) => warnings.push(message) });
    expect(await secrets.resolve('file:token')).toBe(VALUE);
    expect(warnings).toEqual([
      `the secret file ${join(base, 'token')} can be read by other users; run chmod 600 on it`,
    ]);
  });

  test('a folder, a missing, an empty and a huge file are refused', async () => {
    writeFileSync(join(base, 'empty'), '\n');
    writeFileSync(join(base, 'huge'), 'x'.repeat(70_000));
    const secrets = create();
    expect(await failure(secrets.resolve('file:.'))).toContain('is not a regular file');
    expect(await failure(secrets.resolve('file:missing'))).toContain('ENOENT');
    expect(await failure(secrets.resolve('file:empty'))).toContain('it is empty');
    expect(await failure(secrets.resolve('file:huge'))).toContain('more than 65536 bytes');
  });
});

describe('exec:', () => {
  const counting = (): string => `echo run >> ${join(base, 'runs')}; echo ${VALUE}`;
  const runs = (): number => readFileSync(join(base, 'runs'), 'utf8').split('\n').length - 1;

  test('what a command prints is kept for the time to live, and asked for again after it', async () => {
    const clock = createManualClock();
    const secrets = create({ clock, ttlMs: 1000 });
    const ref = `exec:${counting()}`;
    expect(await Promise.all([secrets.resolve(ref), secrets.resolve(ref)])).toEqual([VALUE, VALUE]);
    clock.advance(999);
    await secrets.resolve(ref);
    expect(runs()).toBe(1);
    clock.advance(1);
    await secrets.resolve(ref);
    expect(runs()).toBe(2);
    secrets.forget();
    await secrets.resolve(ref);
    expect(runs()).toBe(3);
  });

  test('a failure is not kept, and its message holds nothing that was printed', async () => {
    writeFileSync(join(base, 'fetch'), `echo ${VALUE}; echo ${VALUE} >&2; exit 3\n`);
    const secrets = create();
    const message = await failure(secrets.resolve('exec:sh ./fetch'));
    expect(message).toBe(
      'secret exec:sh ./fetch could not be resolved: the command ended with 3; run it by hand to see why',
    );
    writeFileSync(join(base, 'fetch'), `echo ${VALUE}\n`);
    expect(await secrets.resolve('exec:sh ./fetch')).toBe(VALUE);
  });

  test('a command that hangs is stopped when its caller gives up', async () => {
    const abort = new AbortController();
    const pending = failure(create().resolve('exec:echo up; exec sleep 1000', { signal: abort.signal }));
    abort.abort();
    expect(await pending).toContain('it was stopped');
  });

  test('a command that prints without end is refused', async () => {
    expect(await failure(create().resolve('exec:head -c 100000 /dev/zero'))).toContain(
      'more than 65536 bytes',
    );
  });
});

describe('aws-sm:', () => {
  const asked: unknown[] = [];
  let server: Server;
  let secrets: Secrets;

  beforeEach(async () => {
    asked.length = 0;
    server = createServer((request, response) => {
      void text(request).then((body) => {
        const { SecretId: id } = JSON.parse(body) as { SecretId: string };
        asked.push([
          request.headers['x-amz-target'],
          id,
          request.headers.authorization?.includes('eu-test-1'),
        ]);
        response.setHeader('content-type', 'application/x-amz-json-1.1');
        const stored: Record<string, object> = {
          plain: { SecretString: VALUE },
          pair: { SecretString: JSON.stringify({ user: 'me', password: VALUE, nested: {} }) },
          binary: { SecretBinary: Buffer.from(VALUE).toString('base64') },
        };
        const found = stored[id];
        response.statusCode = found === undefined ? 400 : 200;
        response.end(
          JSON.stringify(
            found === undefined
              ? {
                  __type: 'ResourceNotFoundException',
                  Message: "Secrets Manager can't find the specified secret.",
                }
              : { ARN: `arn:aws:secretsmanager:eu-test-1:1:secret:${id}`, Name: id, ...found },
          ),
        );
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    secrets = create({
      env: {
        AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        AWS_REGION: 'eu-test-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
      },
    });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('a whole secret, a key of a JSON secret and a binary secret are found, each asked for once', async () => {
    expect(await secrets.resolve('aws-sm:plain')).toBe(VALUE);
    expect(await secrets.resolve('aws-sm:pair#password')).toBe(VALUE);
    expect(await secrets.resolve('aws-sm:binary')).toBe(VALUE);
    expect(await secrets.resolve('aws-sm:plain')).toBe(VALUE);
    expect(asked).toEqual(
      ['plain', 'pair', 'binary'].map((id) => ['secretsmanager.GetSecretValue', id, true]),
    );
  });

  test('a missing secret, a missing key and a secret that is no JSON are reported without the value', async () => {
    const messages = [
      await failure(secrets.resolve('aws-sm:missing')),
      await failure(secrets.resolve('aws-sm:pair#pass')),
      await failure(secrets.resolve('aws-sm:pair#nested')),
      await failure(secrets.resolve('aws-sm:plain#key')),
    ];
    expect(messages).toEqual([
      "secret aws-sm:missing could not be resolved: Secrets Manager answered ResourceNotFoundException: Secrets Manager can't find the specified secret.",
      'secret aws-sm:pair#pass could not be resolved: it has no key "pass"',
      'secret aws-sm:pair#nested could not be resolved: its key "nested" is not a text',
      'secret aws-sm:plain#key could not be resolved: it is not JSON, so it has no key "key"',
    ]);
  });
});

describe('a reference', () => {
  test.each([
    ['env:TOKEN', null],
    ['file:a', null],
    ['exec:pass show x', null],
    ['aws-sm:arn:aws:secretsmanager:eu:1:secret:x#key', null],
    ['env:', 'the secret reference "env:" names nothing'],
    ['env:not a name', expect.stringContaining('is not the name of a variable')],
    ['aws-sm:#key', expect.stringContaining('no name before the #')],
    ['vault:x', expect.stringContaining('env:, file:, exec:, aws-sm:')],
    ['constructor:x', expect.stringContaining('starts with none of them')],
  ])('%s is checked without reading anything', (ref, expected) => {
    expect(create({ env: { TOKEN: VALUE } }).check(ref)).toEqual(expected);
  });

  test('that is the secret itself is not repeated', async () => {
    expect(create().check(VALUE)).not.toContain(VALUE);
    expect(await failure(create().resolve(VALUE))).not.toContain(VALUE);
  });
});

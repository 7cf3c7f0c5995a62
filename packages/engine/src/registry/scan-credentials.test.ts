import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { scanForCredentials } from './scan-credentials.ts';

const kindsOf = (text: string) => scanForCredentials(Buffer.from(text), 'f').map((found) => found.kind);
/** Built at run time, so that no scanner of this repository stumbles over its own test. */
const random = (length: number) =>
  randomBytes(length).toString('base64').replaceAll(/[+/=]/g, '7').slice(0, length);

describe('the credential scan', () => {
  it('finds the shapes of known issuers', () => {
    const samples: [string, string][] = [
      ['aws-access-key-id', `AKIA${'QYLPMN5H'.repeat(2)}`],
      ['aws-secret-access-key', `aws_secret_access_key = ${random(40)}`],
      ['github-token', `ghp_${random(36)}`],
      ['github-token', `ghs_${random(36)}`],
      ['github-fine-grained-token', `github_pat_${random(22)}_${random(59)}`],
      ['anthropic-key', `sk-ant-api03-${random(40)}-${random(20)}AA`],
      ['openai-key', `sk-proj-${random(48)}`],
      ['openai-key', `sk-${random(48)}`],
      ['google-api-key', `AIza${random(35)}`],
      ['slack-token', `xoxb-123456789012-1234567890123-${random(24)}`],
      ['slack-webhook', `https://hooks.slack.com/services/T0ABC1234/B0DEF5678/${random(24)}`],
      ['gitlab-token', `glpat-${random(20)}`],
      ['npm-token', `npm_${random(36)}`],
    ];
    for (const [kind, sample] of samples) {
      expect(kindsOf(`a\nkey = "${sample}"\n`), kind).toEqual([kind]);
      for (const before of ['', 'KEY=', 'https://user:', 'Bearer ', '{"x":"a\\\\n', '/']) {
        expect(kindsOf(before + sample), before + kind).toEqual([kind]);
      }
    }
  });

  it('finds private keys, also inside JSON', () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
      .privateKey.export({ type: 'pkcs1', format: 'pem' })
      .toString();
    expect(kindsOf(pem)).toEqual(['private-key']);
    expect(kindsOf(rsa)).toEqual(['private-key']);
    expect(kindsOf(JSON.stringify({ private_key: pem }))).toEqual(['private-key']);
    expect(kindsOf('Look for "-----BEGIN PRIVATE KEY-----" in the file.')).toEqual([]);
  });

  it('gives file and line, and reads UTF-16 and binary files', () => {
    const token = `ghp_${random(36)}`;
    expect(scanForCredentials(Buffer.from(`one\ntwo ${token}\n\n${token}`), 'a/b')).toEqual([
      { path: 'a/b', line: 2, kind: 'github-token' },
      { path: 'a/b', line: 4, kind: 'github-token' },
    ]);
    expect(scanForCredentials(Buffer.from(`\ufeffx ${token}`, 'utf16le'), 'w')).toHaveLength(1);
    expect(
      scanForCredentials(Buffer.concat([Buffer.from([0, 255, 254, 10]), Buffer.from(token)]), 'b'),
    ).toHaveLength(1);
  });

  it('does not take hashes, ids, lockfiles, placeholders or code for credentials', () => {
    const lines = Array.from({ length: 500 }, () => [
      createHash('sha1').update(randomBytes(8)).digest('hex'),
      randomUUID(),
      `"integrity": "sha512-${randomBytes(64).toString('base64')}"`,
      `sha256:${randomBytes(32).toString('hex')}`,
      `https://example.com/${randomBytes(20).toString('base64url')}`,
    ]).flat();
    lines.push(
      'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      'sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      'OPENAI_API_KEY=sk-your-own-key-goes-here-and-nothing-else',
      'export AWS_SECRET_ACCESS_KEY="$SECRET"',
      'const token = process.env.GITHUB_TOKEN;',
      'task-list-with-a-very-long-kebab-case-name-that-goes-on',
      'risk-assessment-of-the-whole-system-and-its-parts-2024-q3',
      'xoxo-hugs',
      'AKIA is the prefix of a key id',
    );
    expect(kindsOf(lines.join('\n'))).toEqual([]);
  });
});

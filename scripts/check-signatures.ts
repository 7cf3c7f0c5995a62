// Part of `npm run check`: the registry's signatures of what is installed, where the registry and its keys can be asked.
import { spawnSync } from 'node:child_process';
import { judgeSignatures } from './supply-chain/judge-signatures.ts';

const TIMEOUT_MS = 120_000;
const { status, stdout } = spawnSync('npm', ['audit', 'signatures', '--json', '--fetch-retries=0'], {
  encoding: 'utf8',
  timeout: TIMEOUT_MS,
  maxBuffer: 64 * 1024 * 1024,
});
const verdict = judgeSignatures(status, stdout ?? '');
if (verdict.kind === 'not-checked')
  process.stdout.write(`note: signatures were not checked here (${verdict.reason})\n`);
if (verdict.kind === 'bad')
  process.stdout.write(`no valid signature:\n${verdict.packages.map((name) => `  ${name}\n`).join('')}`);
process.exitCode = verdict.kind === 'bad' ? 1 : 0;

// `npm run check`: everything that can be checked without running the code. Each part is a separate program.
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const PARTS: readonly { readonly name: string; readonly argv: readonly [string, ...string[]] }[] = [
  { name: 'types', argv: ['tsc', '-p', '.'] },
  { name: 'types of the dashboard', argv: ['tsc', '-p', 'packages/dashboard'] },
  { name: 'lint', argv: ['oxlint', '--type-aware', '--deny-warnings', '--quiet'] },
  { name: 'format', argv: ['oxfmt', '--check'] },
  { name: 'boundaries', argv: ['node', 'scripts/check-boundaries.ts'] },
  { name: 'dead code', argv: ['knip', '--no-progress'] },
  { name: 'words', argv: ['node', 'scripts/check-words.ts'] },
  { name: 'generated docs', argv: ['node', 'scripts/generate-docs.ts', '--check'] },
  { name: 'supply chain', argv: ['node', 'scripts/check-supply-chain.ts'] },
  { name: 'signatures', argv: ['node', 'scripts/check-signatures.ts'] },
];

export interface CheckOutcome {
  readonly passed: number;
  readonly failed: readonly string[];
}

/** Runs every part, also after one failed, and prints what the failed ones said, and the notes of the others. */
export function runChecks(): CheckOutcome {
  const failed: string[] = [];
  for (const part of PARTS) {
    const startedAt = performance.now();
    const [command, ...args] = part.argv;
    const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    const isOk = result.status === 0;
    process.stdout.write(
      `${isOk ? 'ok  ' : 'FAIL'} ${part.name} (${Math.round(performance.now() - startedAt)} ms)\n`,
    );
    if (isOk) {
      process.stdout.write((/^note: .*\n/m.exec(result.stdout)?.[0] ?? '').replace(/^(?=.)/, '     '));
      continue;
    }
    failed.push(part.name);
    process.stdout.write(
      result.error === undefined ? result.stdout + result.stderr : `${result.error.message}\n`,
    );
  }
  return { passed: PARTS.length - failed.length, failed };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = runChecks().failed.length === 0 ? 0 : 1;
}

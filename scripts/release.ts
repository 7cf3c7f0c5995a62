/**
 * `npm run release`: what would be published, and whether it may be. Nothing leaves this machine without `--publish`,
 * which is for a CI that can sign where the package was built (provenance).
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findReleaseProblems } from './release-problems.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = join(ROOT, 'packages', 'cli');
const isForReal = process.argv.includes('--publish');

const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string };
const problems = findReleaseProblems({
  version,
  changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
  changedFiles: execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }),
});
for (const problem of problems) process.stdout.write(`not ready: ${problem}\n`);
if (isForReal && problems.length > 0) process.exit(1);
const how = isForReal ? ['--provenance'] : ['--dry-run'];
execFileSync('npm', ['publish', '--access', 'public', ...how], { cwd: PACKAGE, stdio: 'inherit' });

// Part of `npm run check`: what the lock file may say, and which licences it may bring.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findLockProblems } from './supply-chain/check-lock-file.ts';
import { findLicenceProblems } from './supply-chain/licences.ts';
import { readLockFile } from './supply-chain/lock-file.ts';

const entries = readLockFile(dirname(dirname(fileURLToPath(import.meta.url))));
const problems = [...findLockProblems(entries), ...findLicenceProblems(entries)];
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

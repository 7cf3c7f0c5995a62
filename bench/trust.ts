// What trust costs a command, and what the corpus of hostile and ordinary projects gets.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';
import { createScratch, timeProgram, type Scratch } from './dispatch/scratch.ts';

const ROUNDS = 25;
const MOST_MS = 5;
const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const HARMLESS = 'limits: { timeout: 5m }\n';
const ASKING = `${HARMLESS}workspace: { setup: "sh setup.sh" }\nnetwork: { hosts: ["a.example:443"] }\n`;

export async function run(): Promise<BenchRow[]> {
  return [await measureCheck(), ...(await countCorpus())];
}

async function measureCheck(): Promise<BenchRow> {
  const [plain, asking] = [createProject('plain', HARMLESS), createProject('asking', ASKING)];
  try {
    execFileSync(process.execPath, [CLI, 'trust', '--yes'], {
      cwd: asking.project,
      env: asking.env,
      stdio: 'ignore',
    });
    const ms = await measureInTurns(ROUNDS, {
      plain: () => timeProgram(process.execPath, [CLI, 'runs'], plain),
      asking: () => timeProgram(process.execPath, [CLI, 'runs'], asking),
    });
    return {
      name: 'trust: caisson runs in a project that asks and was agreed to',
      value: ms.asking,
      unit: 'ms p50',
      peer: 'the same command in a project that asks for nothing',
      peerValue: ms.plain,
      ratio: ms.asking / ms.plain,
      target: `at most ${MOST_MS} ms more`,
      met: ms.asking - ms.plain <= MOST_MS,
    };
  } finally {
    plain.remove();
    asking.remove();
  }
}

function createProject(name: string, config: string): Scratch {
  const scratch = createScratch(name);
  writeFileSync(join(scratch.project, 'caisson.yaml'), config);
  writeFileSync(join(scratch.project, 'setup.sh'), 'echo prepared\n');
  return scratch;
}

/** The suites decide; here they are only counted. */
async function countCorpus(): Promise<BenchRow[]> {
  const hostile = await countTests('tests/must-reject/must-reject.test.ts');
  const ordinary = await countTests('tests/must-reject/ordinary.test.ts');
  return [
    countRow('trust: hostile projects of the corpus refused', hostile, 'the whole corpus'),
    countRow('trust: ordinary projects without an alarm', ordinary, 'all that were tried'),
  ];
}

function countRow(name: string, { passed, total }: Count, peer: string): BenchRow {
  const ratio = passed / total;
  return {
    name,
    value: passed,
    unit: 'cases',
    peer,
    peerValue: total,
    ratio,
    target: '1.0x',
    met: passed === total,
  };
}

interface Count {
  readonly passed: number;
  readonly total: number;
}

async function countTests(file: string): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-bench-corpus-'));
  const report = join(folder, 'report.json');
  const words = ['run', file, '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn('vitest', words, { stdio: 'ignore' });
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  try {
    const counted = JSON.parse(readFileSync(report, 'utf8')) as {
      numPassedTests: number;
      numTotalTests: number;
    };
    return { passed: counted.numPassedTests, total: counted.numTotalTests };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

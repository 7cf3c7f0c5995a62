/** What code of residents logged, for programs: `senses logs` with json and ndjson, while a daemon serves the project. */
import { expect, it } from 'vitest';
import { until } from './project.ts';
import { readJson, senseOf, serveResidents } from './resident-project.ts';

const LIMIT_MS = 120_000;
const COMPUTES = 6;
const LINES = 30;

/** Three bytes each, so that pieces of a file end within a character. */
const TEXT = '€'.repeat(500);

const logOf = (ndjson: string): string =>
  ndjson
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { log: string }).log)
    .join('');

it(
  'json has all of it, ndjson pieces that split no character, and only ndjson follows',
  { timeout: LIMIT_MS },
  async () => {
    const { project } = await serveResidents(
      ['senses: { says: { file: says.ts, on: [{ signal: never }] } }'],
      { 'says.ts': senseOf(`for (let n = 1; n <= ${LINES}; n += 1) log('${TEXT}');`) },
    );
    for (let count = 0; count < COMPUTES; count += 1) await readJson(project, 'senses', 'trigger', 'says');
    const read = () => readJson<{ log: string }>(project, 'senses', 'logs', 'says');
    const countLines = (log: string) => log.split('\n').filter((line) => line.includes(TEXT)).length;
    await until('all is written', async () => countLines((await read()).log) === COMPUTES * LINES);
    const { log } = await read();
    expect(Buffer.byteLength(log)).toBeGreaterThan(3 * 65_536);
    expect(log).not.toContain('\uFFFD');

    const { stdout } = await project.caisson('senses', 'logs', 'says', '-o', 'ndjson');
    expect(stdout.trim().split('\n').length).toBeGreaterThan(1);
    expect(logOf(stdout)).toBe(log);

    const refused = await project.caisson('senses', 'logs', 'says', '-f', '-o', 'json');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stdout + refused.stderr).toContain('Use -o ndjson');

    const follower = project.start('senses', 'logs', 'says', '-f', '-o', 'ndjson');
    let text = '';
    follower.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await until('it is followed', () => text.endsWith('\n') && logOf(text) === log);
    follower.kill('SIGINT');
    expect(await new Promise((resolve) => follower.once('close', (...how) => resolve(how)))).toEqual([
      null,
      'SIGINT',
    ]);
  },
);

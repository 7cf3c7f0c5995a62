// What it costs to export the spans of a run: the same agent run, with a receiver and without one, in turns. Needs a build.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startModelServer, type ModelServer } from '@caisson/testkit';
import { openProject, type Project } from '../tests/e2e/open-project.ts';
import type { BenchRow } from './bench-row.ts';
import { median } from './dispatch/scratch.ts';

const KEY = 'sk-bench-key';
const PAIRS = 50;
const MOST = 1.03;
/** A model that thinks for a moment, as all do. */
const ANSWER_MS = 250;

export async function run(): Promise<BenchRow[]> {
  const ends: (() => unknown)[] = [];
  try {
    const model = await serveModel(ends);
    const plain = openAgent(model, {}, ends);
    const traced = openAgent(model, { OTEL_EXPORTER_OTLP_ENDPOINT: await listen(ends) }, ends);
    const ratios: number[] = [];
    const times: [number, number][] = [];
    for (let pair = 0; pair <= PAIRS; pair += 1) {
      const isPlainFirst = pair % 2 === 0; // the second one finds warmer caches
      const first = await time(isPlainFirst ? plain : traced);
      const second = await time(isPlainFirst ? traced : plain);
      const [without, withSpans] = isPlainFirst ? [first, second] : [second, first];
      if (pair === 0) continue; // compiles
      ratios.push(withSpans / without);
      times.push([without, withSpans]);
    }
    const ratio = median(ratios);
    return [
      {
        name: 'telemetry: an agent run whose spans are exported, from the command line',
        value: median(times.map(([, withSpans]) => withSpans)),
        unit: 'ms p50',
        peer: 'the same run without a receiver',
        peerValue: median(times.map(([without]) => without)),
        ratio,
        target: `<= ${MOST}x (median of ${PAIRS} pairs)`,
        met: ratio <= MOST,
        details: [
          `of both, ${(3 * ANSWER_MS) / 1000} s are the model's: as a difference, ${Math.round(median(times.map(([without, withSpans]) => withSpans - without)))} ms`,
        ],
      },
      await describeOff(model, await listen(ends), ends),
    ];
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

/** Which of its modules a run without a receiver loads: what the engine itself reports of each process. */
async function describeOff(model: ModelServer, url: string, ends: (() => unknown)[]): Promise<BenchRow> {
  const count = async (env: Record<string, string>): Promise<number> => {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-bench-loaded-'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    await time(openAgent(model, { ...env, NODE_V8_COVERAGE: folder }, ends));
    const reports = await Promise.all(
      (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
    );
    return reports.flatMap(
      (report) => report.match(/"url":"[^"]*(?:otel-export|@opentelemetry)[^"]*"/g) ?? [],
    ).length;
  };
  const [off, on] = [await count({}), await count({ OTEL_EXPORTER_OTLP_ENDPOINT: url })];
  return {
    name: 'telemetry: modules of it that a run loads when it is off',
    value: off,
    unit: 'modules',
    peer: 'the same run with a receiver',
    peerValue: on,
    ratio: on === 0 ? Number.NaN : off / on,
    target: '0, and some with a receiver',
    met: off === 0 && on > 0,
  };
}

async function serveModel(ends: (() => unknown)[]): Promise<ModelServer> {
  const call = {
    say: 'a step',
    tool: { intent: 'run-command' as const, command: 'true' },
    afterMs: ANSWER_MS,
  };
  const server = await startModelServer({
    apiKey: KEY,
    script: [call, call, { say: 'done', afterMs: ANSWER_MS }],
  });
  ends.push(() => server.stop());
  return server;
}

function openAgent(model: ModelServer, env: Record<string, string>, ends: (() => unknown)[]): Project {
  const native = `{ endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: claude-sonnet-4-5 }`;
  const config = `runtime: native\nruntimes: { native: ${native} }\n`;
  return openProject({ config, env: { MODEL_KEY: KEY, ...env } }, (end) => ends.push(end));
}

async function listen(ends: (() => unknown)[]): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function time(project: Project): Promise<number> {
  await project.trust();
  const beganMs = performance.now();
  const { status } = await project.run('do it');
  if (status !== 'done') throw new Error(`a run of the bench ended as ${status}`);
  return performance.now() - beganMs;
}

/**
 * A file of a sense is saved every 200 ms while its computes are asked for: each is made once, by one version or another.
 * `CAISSON_RELOADED_COMPUTES=5000` is the nightly size (docs/guides/nightly.md).
 */
import { createCaisson } from 'caisson';
import { definedOnly } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { senseOf, serveResidents } from '../e2e/resident-project.ts';

const COMPUTES = Number(process.env['CAISSON_RELOADED_COMPUTES'] ?? 200);
const SAVE_MS = 200;
/** As many as the shortest form sees on a busy machine. */
const MIN_VERSIONS = 3;
const MAX_COMPUTES = COMPUTES * 20;
/** The signals of a sense that others listen to have a limit: 60 a minute. */
const EMIT_EVERY = Math.ceil(COMPUTES / 20);

interface Counted {
  readonly n: number;
  readonly version: number;
}

const counting = (version: number): string =>
  senseOf(`
  const n = (state.get('n') ?? 0) + 1;
  state.set('n', n);
  emit('counted', { n, version: ${version} });
  if (n % ${EMIT_EVERY} === 0) emit('reached', n);`);

it(
  `${COMPUTES} computes are made once each while the file is saved every ${SAVE_MS} ms`,
  { timeout: 120_000 + COMPUTES * 100 },
  async () => {
    const { project, ledger } = await serveResidents(
      [
        'senses:',
        '  counts: { file: counts.ts, on: [{ signal: never }] }',
        '  listens: { file: listens.ts, group: other, on: [{ signal: reached }] }',
      ],
      { 'counts.ts': counting(0), 'listens.ts': senseOf('') },
      definedOnly(process.env), // the same user as here
    );
    const caisson = await createCaisson({ cwd: project.root, daemon: true });
    onTestFinished(() => caisson.close());
    let version = 0;
    const saving = setInterval(() => project.write('counts.ts', counting((version += 1))), SAVE_MS);
    onTestFinished(() => clearInterval(saving));
    const made: Counted[] = [];
    const countVersions = (): number => new Set(made.map((each) => each.version)).size;
    while (made.length < COMPUTES || (countVersions() < MIN_VERSIONS && made.length < MAX_COMPUTES)) {
      const { signals, failure } = await caisson.residents.trigger('counts');
      expect(failure).toBeUndefined();
      made.push(signals[0]?.payload as Counted);
    }
    clearInterval(saving);
    expect(made.map(({ n }) => n)).toEqual(made.map((_, index) => index + 1));
    const emitted = ledger.read({ types: ['signal.emitted'] }).map(({ data }) => data.payload);
    const wanted = Math.floor(made.length / EMIT_EVERY);
    expect(emitted).toEqual(Array.from({ length: wanted }, (_, index) => (index + 1) * EMIT_EVERY));
    expect(countVersions()).toBeGreaterThanOrEqual(MIN_VERSIONS);
    // A version that has the work keeps it until the next one takes over.
    const versions = made.map((each) => each.version);
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  },
);

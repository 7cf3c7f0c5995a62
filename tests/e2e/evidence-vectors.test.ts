/** The public vectors of the evidence format, and a second verifier that shares no code with the first. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePublicKey, verifyExport, type Verification } from '@caisson/engine';
import { createProject, ROOT } from './project.ts';

interface Vector {
  readonly file: string;
  readonly outcome: keyof typeof CODES;
  readonly failed: readonly string[];
}

interface Verdict {
  readonly outcome: Verification['outcome'];
  readonly failed: readonly string[];
}

const FOLDER = join(ROOT, 'tests/vectors/evidence');
const SCRIPT = join(ROOT, 'scripts/verify-evidence.mjs');
const CODES = { ok: 0, tampered: 6, 'bad-signature': 7, 'no-key': 8, incomplete: 10 };
const { key, vectors } = JSON.parse(readFileSync(join(FOLDER, 'index.json'), 'utf8')) as {
  key: string;
  vectors: Vector[];
};
const keyFile = join(FOLDER, key);

async function askFirst(file: string, pemFile: string): Promise<Verdict> {
  const trustedKeys = [parsePublicKey(readFileSync(pemFile, 'utf8'), pemFile)];
  const { outcome, checks } = await verifyExport(file, { trustedKeys });
  const failed = checks
    .filter(({ verdict }) => verdict === 'failed' || verdict === 'missing')
    .map((check) => check.id);
  return { outcome, failed: failed.toSorted() };
}

function askSecond(file: string, ...pemFiles: string[]): Promise<Verdict & { code: number }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [SCRIPT, file, ...pemFiles], (_error, stdout) => {
      const said = JSON.parse(stdout) as { outcome: Verification['outcome']; failed: { id: string }[] };
      const failed = [...new Set(said.failed.map(({ id }) => id))].toSorted();
      resolve({ outcome: said.outcome, failed, code: child.exitCode ?? -1 });
    });
  });
}

describe('the vectors of the evidence format', () => {
  it('are all listed', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.tar'));
    expect(vectors.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
    expect(new Set(vectors.map(({ outcome }) => outcome))).toEqual(new Set(Object.keys(CODES)));
  });

  it.each(vectors)('both verifiers give $file what it must get', async ({ file, outcome, failed }) => {
    const expected = { outcome, failed: failed.toSorted() };
    expect(await askFirst(join(FOLDER, file), keyFile)).toEqual(expected);
    expect(await askSecond(join(FOLDER, file), keyFile)).toEqual({ ...expected, code: CODES[outcome] });
  });

  it('the command ends with the code of the outcome', { timeout: 60_000 }, async () => {
    const project = createProject({ git: false });
    for (const outcome of Object.keys(CODES) as (keyof typeof CODES)[]) {
      const vector = vectors.find((one) => one.outcome === outcome);
      const { code } = await project.caisson('verify', join(FOLDER, vector?.file ?? ''), '--key', keyFile);
      expect([outcome, code]).toEqual([outcome, CODES[outcome]]);
    }
  });
});

describe('the second verifier', () => {
  it('is one file of fewer than 250 lines that imports nothing but Node', () => {
    const text = readFileSync(SCRIPT, 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThan(250);
    const imports = [...text.matchAll(/^import .* from '(.*)';$/gm)].map(([, name]) => name);
    expect(imports).toEqual(['node:crypto', 'node:fs']);
    expect(text).not.toMatch(/import\(|require\(/);
  });

  it(
    'agrees with the first on a fresh export, sound and with a byte flipped anywhere',
    { timeout: 120_000 },
    async () => {
      const project = createProject();
      const run = await project.run(
        '--',
        'sh',
        '-c',
        'echo said; echo work > new; mkdir outputs; echo é > outputs/r',
      );
      const file = join(project.root, 'proof.tar');
      const pem = join(project.root, 'key.pem');
      await project.caisson('export', run.runId, '--to', file);
      writeFileSync(pem, (await project.caisson('keys', '--export')).stdout);
      expect(await askSecond(file, pem)).toEqual({ outcome: 'ok', failed: [], code: 0 });
      expect(await askSecond(file)).toEqual({ outcome: 'no-key', failed: ['key'], code: 8 });
      const good = readFileSync(file);
      const step = Math.ceil(good.length / 48);
      for (let at = 7; at < good.length; at += step) {
        const bad = Buffer.from(good);
        bad[at] = (bad[at] ?? 0) ^ 1;
        writeFileSync(file, bad);
        const { code: _code, ...second } = await askSecond(file, pem);
        expect(second, `byte ${at}`).toEqual(await askFirst(file, pem));
        expect(second.outcome).not.toBe('ok');
      }
    },
  );
});

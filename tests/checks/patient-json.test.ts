/** What the build changes in a dependency: it must still be there to be changed, and must still parse what is whole. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../e2e/project.ts';

type Parse = (json: string) => unknown;

async function bundle(source: string): Promise<Parse | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'patient-json-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { patientJson } = (await import(pathToFileURL(join(ROOT, 'scripts/patient-json.mjs')).href)) as {
    patientJson: Plugin;
  };
  const file = join(folder, 'out.mjs');
  await build({
    stdin: { contents: source, resolveDir: ROOT },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: file,
    logLevel: 'silent',
    plugins: [patientJson],
  });
  return ((await import(pathToFileURL(file).href)) as { parseStreamingJson?: Parse }).parseStreamingJson;
}

it('a long call is parsed when it may be whole, also where a line end follows it', async () => {
  const parser = join(ROOT, 'node_modules/@earendil-works/pi-ai/dist/utils/json-parse.js');
  const parse = await bundle(`export { parseStreamingJson } from ${JSON.stringify(parser)};`);
  const call = { content: 'x'.repeat(20_000) };
  const whole = JSON.stringify(call);
  expect(parse?.(whole)).toEqual(call);
  expect(parse?.(`${whole}\n `)).toEqual(call);
  expect(parse?.(whole.slice(0, -2))).toEqual({});
  expect(parse?.('{"short":"and cut')).toEqual({ short: 'and cut' });
});

it('a build that finds nothing to change fails', async () => {
  await expect(bundle('export const nothing = 1;')).rejects.toThrow(/has it moved/);
});

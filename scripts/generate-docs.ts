// `npm run docs`: writes docs/reference from the code. With --check it only says what is not up to date.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeCommands } from './docs/command-page.ts';
import { describeConfig } from './docs/config-page.ts';
import { describeEvents } from './docs/events-page.ts';
import { describeLicences } from './docs/licences-page.ts';
import { describeRuntimes } from './docs/runtimes-page.ts';
import { describeApi } from './docs/openapi-page.ts';
import { createJsonSchemas } from './docs/json-schemas.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDER = join(ROOT, 'docs', 'reference');
const NOTICE = '<!-- Written by npm run docs from the code. Changes made here are lost. -->\n\n';

const isCheck = process.argv.includes('--check');
const pages = new Map<string, string>([
  ['config.md', NOTICE + describeConfig()],
  ['cli.md', NOTICE + (await describeCommands())],
  ['events.md', NOTICE + describeEvents()],
  ['licences.md', NOTICE + describeLicences(ROOT)],
  ['runtimes.md', NOTICE + describeRuntimes()],
  ['openapi.json', describeApi('1')],
  ...createJsonSchemas(),
]);

const stale = [...pages].filter(([name, text]) => readPage(name) !== text).map(([name]) => name);
const orphans = globSync('**/*.{md,json}', { cwd: FOLDER }).filter((name) => !pages.has(name));
if (isCheck) {
  for (const name of [...stale, ...orphans])
    process.stdout.write(`docs/reference/${name} is not up to date; run npm run docs\n`);
  process.exitCode = stale.length + orphans.length === 0 ? 0 : 1;
} else {
  for (const name of orphans) rmSync(join(FOLDER, name));
  for (const name of stale) writePage(name, pages.get(name) ?? '');
  process.stdout.write(`${stale.length} of ${pages.size} pages written\n`);
}

function readPage(name: string): string | null {
  const path = join(FOLDER, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function writePage(name: string, text: string): void {
  const path = join(FOLDER, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** `npm run screenshots`: pictures of every page of the dashboard, of a project whose agents worked, as docs/screenshots. */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { findChromium } from '../tests/browser/find-chromium.ts';
import { fillScene, openScene } from '../tests/browser/scene.ts';

const FOLDER = process.argv[2] ?? fileURLToPath(new URL('../docs/screenshots', import.meta.url));
const MAX_BYTES = 3_000_000;
const SIZE = { width: 1200, height: 800 };
/** Lists, lazily loaded parts and fonts are drawn by then. */
const SETTLED_MS = 500;

const ends: (() => unknown)[] = [];
try {
  await takeAll();
} finally {
  for (const end of ends.reverse()) await end();
}

async function takeAll(): Promise<void> {
  const scene = await openScene((end) => ends.push(end));
  const { root } = scene.project;
  const runs = await fillScene(scene);
  const sleeps = ['--', 'sh', '-c', 'echo watching the tests; sleep 600'];
  for (let count = 0; count < 4; count += 1) await scene.start('--session', 'night', ...sleeps);
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  ends.push(() => browser.close());
  const page = await (await browser.newContext({ viewport: SIZE })).newPage();
  await page.goto(await scene.openLink());
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const pages: Readonly<Record<string, string>> = {
    inbox: '',
    runs: 'runs',
    run: `runs/${runs.rounds}`,
    timeline: `runs/${runs.rounds}/timeline`,
    log: `runs/${runs.fails}/log`,
    diff: `runs/${runs.rounds}/diff`,
    evidence: `runs/${runs.rounds}/evidence`,
    costs: 'costs',
    residents: 'residents',
    pool: 'pool',
    doctor: 'doctor',
  };
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const [name, path] of Object.entries(pages))
      await take(page, root, `${scene.url}${path}`, `${name}-${theme}`);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  for (const name of ['inbox', 'runs', 'diff'])
    await take(page, root, `${scene.url}${pages[name] ?? ''}`, `${name}-phone`);
  const bytes = readdirSync(FOLDER).reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0);
  if (bytes > MAX_BYTES) throw new Error(`the pictures have ${bytes} bytes; ${MAX_BYTES} are allowed`);
}

async function take(page: Page, root: string, url: string, name: string): Promise<void> {
  await page.goto(url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.loading').waitFor({ state: 'detached' });
  await page.waitForTimeout(SETTLED_MS);
  await page.evaluate(hideFolder(dirname(root)));
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

/** The project is in a temporary folder of this machine; the pictures say where a person would have it. */
function hideFolder(folder: string): string {
  return `{
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
      text.nodeValue = text.nodeValue.replaceAll(${JSON.stringify(folder)}, '/home/you');
  }`;
}

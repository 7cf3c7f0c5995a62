/** One browser for all of the dashboard's tests, and the page that they look at. */
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { findChromium } from './find-chromium.ts';
import { fillScene, openScene, type Scene } from './scene.ts';
import { EVIL_TASK, FLOOD, HOSTILE_SCRIPTS } from './hostile-text.ts';

export const SEEN_MS = 30_000;
/** A name of a stranger that leads to this machine, as after a rebinding. */
export const REBOUND = 'rebound.example';

export interface Stage {
  readonly scene: Scene;
  readonly runs: Awaited<ReturnType<typeof fillScene>> & { readonly evil: string; readonly flood: string };
  readonly page: Page;
  /** What the page asked for elsewhere, and what it reported as an error. */
  readonly trouble: string[];
  /** Opens a page of the dashboard by its path, and waits for its heading. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const ends: (() => unknown)[] = [];
  const [scene, browser] = await Promise.all([openScene((end) => ends.push(end), HOSTILE_SCRIPTS), launch()]);
  ends.push(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(scene.url))
      trouble.push(request.url());
  });
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('dialog', (dialog) => trouble.push(dialog.message()));
  await page.goto(await scene.openLink());
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ timeout: SEEN_MS });
  const runs = await fillScene(scene);
  const evil = await scene.start('--runtime', 'native', '--mode', 'full-auto', EVIL_TASK);
  const flood = await scene.start('--', 'sh', '-c', FLOOD);
  return {
    ...{ scene, page, trouble, runs: { ...runs, evil, flood } },
    async go(path) {
      await page.goto(`${scene.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor({ timeout: SEEN_MS });
    },
    async close() {
      for (const end of ends.toReversed()) await end();
    },
  };
}

function launch(): Promise<Browser> {
  const args = ['--no-sandbox', `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`];
  return chromium.launch({ executablePath: findChromium(), args });
}

/** What axe finds against WCAG 2.2 AA, in words. */
export async function findInaccessible(page: Page): Promise<string[]> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  return await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')))`);
}

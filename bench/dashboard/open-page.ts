import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';

import { findChromium } from '../../tests/browser/find-chromium.ts';
import { openProject, type Project } from '../../tests/e2e/open-project.ts';
import { fillLedger } from '../read-model/fill-ledger.ts';

export interface Scene {
  readonly project: Project;
  readonly url: string;
  readonly page: Page;
}

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
}

/** A project with so many ended runs, its daemon, and a page that is signed in. `onEnd` collects what takes it away. */
export async function openScene(
  browser: Browser,
  runs: number,
  onEnd: (end: () => void | Promise<unknown>) => void,
): Promise<Scene> {
  const env = process.env as Record<string, string>; // the same user as here
  const project = openProject({ env }, onEnd);
  await project.caisson('run', '--workspace', 'empty', '--', 'true'); // makes the state folder
  await fillLedger(join(project.root, '.caisson/ledger.db'), runs);
  onEnd(() => project.caisson('down', '--now'));
  const { stdout, stderr } = await project.caisson('ui', '--no-open', '-o', 'json');
  if (stdout === '') throw new Error(`caisson ui failed: ${stderr}`);
  const { url, link } = JSON.parse(stdout) as { url: string; link: string };
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return { project, url, page };
}

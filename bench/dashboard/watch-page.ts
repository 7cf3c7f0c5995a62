import type { Page } from 'playwright-core';

export interface Opening {
  /** From the start of the navigation until the first rows of the table are on the screen. */
  readonly paintedMs: number;
  /** The same until, after that, the page has no more work that would hold up a key. */
  readonly readyMs: number;
}

const ROWS = '[role=table] [role=row] a';
/** So long without a long task is calm. */
const CALM_MS = 1500;

/** Loads the runs page anew. What is drawn in one frame is on the screen with the next. */
export async function timeOpening(page: Page, url: string): Promise<Opening> {
  await page.goto('about:blank');
  await page.goto(`${url}runs`, { waitUntil: 'commit' });
  return (await page.evaluate(`new Promise((resolve) => {
    let painted = 0, busyUntil = 0;
    new PerformanceObserver((list) => {
      for (const task of list.getEntries()) busyUntil = Math.max(busyUntil, task.startTime + task.duration);
    }).observe({ type: 'longtask', buffered: true });
    const look = () => requestAnimationFrame((at) => {
      if (painted === 0 && document.querySelector('${ROWS}') !== null)
        return requestAnimationFrame(() => { painted = performance.now(); look(); });
      const ready = Math.max(painted, busyUntil);
      if (painted === 0 || performance.now() < ready + ${CALM_MS}) return look();
      resolve({ paintedMs: painted, readyMs: ready });
    });
    look();
  })`)) as Opening;
}

export interface Sight {
  readonly runId: string;
  readonly status: string;
  readonly atMs: number;
}

/** Notes from now on when which status of a run was on the screen first. */
export async function watchRows(page: Page): Promise<() => Promise<readonly Sight[]>> {
  await page.evaluate(`(() => {
    const seen = new Set(), sights = (globalThis.sights = []);
    const look = () => requestAnimationFrame(() => {
      const fresh = [];
      for (const row of [...document.querySelectorAll('[role=table] [role=row]')].slice(0, 20)) {
        const runId = row.querySelector('a')?.pathname.split('/').at(-1);
        const status = row.querySelectorAll('[role=cell]')[1]?.textContent ?? '';
        if (runId === undefined || seen.has(runId + status)) continue;
        seen.add(runId + status);
        fresh.push({ runId, status });
      }
      if (fresh.length > 0)
        requestAnimationFrame(() => { for (const each of fresh) sights.push({ ...each, atMs: Date.now() }); });
      look();
    });
    look();
  })()`);
  return async () => (await page.evaluate('globalThis.sights')) as readonly Sight[];
}

import { expect, it } from 'vitest';
import { fillRuns } from './fill-runs.ts';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 120_000;
const MANY = 100_000;

export function describeManyRuns(at: () => Stage): void {
  it('a hundred thousand runs: both ends, scrolling and searching', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    fillRuns(scene.project.root, MANY);
    await go('runs');
    const table = page.getByRole('table', { name: 'Runs' });
    await table.getByText('true # after').first().waitFor({ timeout: SEEN_MS });
    await table.focus();
    for (const loaded of ['200', '300', '400']) {
      await page.keyboard.press('End');
      await page.getByText(`${loaded} loaded; more as you scroll`).waitFor({ timeout: SEEN_MS });
    }
    expect(await table.locator('.run-row').count()).toBeLessThan(100);
    await page.getByLabel('Order').selectOption('oldest');
    await table.getByText('old run 1', { exact: true }).waitFor({ timeout: SEEN_MS });
    await page.getByLabel('Order').selectOption('newest');
    await page.getByLabel('Search tasks').fill('old run 54321');
    await page.getByText('1 run', { exact: true }).waitFor({ timeout: SEEN_MS });
    expect(await table.locator('.run-row', { hasText: 'old run 54321' }).count()).toBe(1);
    await go('');
    await go('costs');
  });
}

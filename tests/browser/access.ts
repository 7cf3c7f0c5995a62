import { expect, it } from 'vitest';
import { findInaccessible, SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 120_000;

/** Every page with real content, in both themes and on a phone. */
export function describeAccess(at: () => Stage): void {
  it.each(['light', 'dark'] as const)(
    'every page is accessible, %s',
    { timeout: LIMIT_MS },
    async (theme) => {
      const { page, go, trouble } = at();
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      for (const [path, content] of pagesOf(at())) {
        await go(path);
        await page.getByText(content).first().waitFor({ timeout: SEEN_MS });
        expect([path, await findInaccessible(page)]).toEqual([path, []]);
      }
      expect(await describeDialogs(at())).toEqual([]);
      expect(trouble).toEqual([]);
    },
  );

  it('no page is wider than a phone', { timeout: LIMIT_MS }, async () => {
    const { page, go } = at();
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [path, content] of pagesOf(at())) {
      await go(path);
      await page.getByText(content).first().waitFor({ timeout: SEEN_MS });
      const wide = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
      expect([path, wide]).toEqual([path, 0]);
    }
    expect(await findInaccessible(page)).toEqual([]);
    await describeFoldedFilters(at());
    await page.setViewportSize({ width: 1280, height: 800 });
  });
}

/** On a phone the runs are on the screen, and what narrows them is one press away. */
async function describeFoldedFilters({ page, go }: Stage): Promise<void> {
  await go('runs?agent=nobody');
  await page.getByText('No run fits').waitFor({ timeout: SEEN_MS });
  await page.getByRole('button', { name: 'Clear filters' }).click();
  const table = page.getByRole('table', { name: 'Runs' });
  await table.waitFor({ timeout: SEEN_MS });
  expect((await table.boundingBox())?.y).toBeLessThan(250);
  expect(await page.getByLabel('Status').isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Status').selectOption('error');
  await page.getByRole('button', { name: 'Filters (1)' }).click();
  expect(await page.getByLabel('Status').isVisible()).toBe(false);
}

/** Each page, and a text by which its content is known to be there. */
function pagesOf({ runs: { rounds, fails, deletes } }: Stage): [string, string | RegExp][] {
  return [
    ['', 'rm -rf archive/2025'],
    ['runs', 'Round prices to whole cents'],
    ['runs?group=session', /^prices · 1 run/],
    [`runs/${rounds}`, 'What was asked'],
    [`runs/${rounds}/timeline`, 'Model calls'],
    [`runs/${fails}/log`, '41 files checked'],
    [`runs/${rounds}/diff`, 'src/price.mjs'],
    [`runs/${rounds}/evidence`, 'Number in the chain'],
    [`runs/${deletes}`, 'It waits for you'],
    [`runs/${deletes}/diff`, 'There is no diff yet'],
    ['costs', 'of 500 tool calls'],
    ['residents', 'nightly'],
    ['pool', 'At most at once'],
    ['doctor', 'bubblewrap'],
    ['nowhere', 'There is no such page'],
  ];
}

/** The dialogs, and the forms that open on a page. */
async function describeDialogs({ page, go, runs }: Stage): Promise<string[]> {
  const found: string[] = [];
  await go(`runs/${runs.rounds}/diff`);
  await page.getByRole('button', { name: 'Comment on line 7', exact: true }).first().click();
  await page.getByLabel('Your comment').fill('Why here?');
  found.push(...(await findInaccessible(page)));
  await page.getByRole('button', { name: 'Keep' }).click();
  await page.getByRole('button', { name: 'Retry…' }).click();
  found.push(...(await findInaccessible(page)));
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  found.push(...(await findInaccessible(page)));
  await page.keyboard.press('Escape');
  return found;
}

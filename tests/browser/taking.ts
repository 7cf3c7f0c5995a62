import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 60_000;

/** What stands between a press and the files of the project. */
export function describeTaking(at: () => Stage): void {
  it('what was said of one choice of files never lets another one in', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go, runs } = at();
    const sent = watchApplies(at());
    // A change of the person's own, in a file that the run changed, too.
    scene.project.write('test/price.test.mjs', '// mine');
    await go(`runs/${runs.rounds}/diff`);
    await page.getByRole('checkbox', { name: 'Take src/price.mjs' }).uncheck({ timeout: SEEN_MS });
    const panel = page.getByRole('region', { name: 'Apply' });
    await panel.getByRole('button', { name: 'Apply 1 file' }).click();
    const next = panel.locator('.notice button');
    await next.waitFor({ timeout: SEEN_MS });
    await page.getByRole('checkbox', { name: 'Take src/price.mjs' }).check();
    expect(await next.count()).toBe(0);
    expect(sent).toEqual(['{"only":[{"path":"test/price.test.mjs"}]}']);
  });

  it('work whose check failed is applied after a second, explicit yes', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    const sent = watchApplies(at());
    const unchecked = await scene.start('--verify', 'exit 1', '--', 'sh', '-c', 'echo new > unchecked.txt');
    await scene.untilEnded(unchecked);
    await go(`runs/${unchecked}/diff`);
    await page.getByText('The check of this work failed').waitFor({ timeout: SEEN_MS });
    const panel = page.getByRole('region', { name: 'Apply' });
    await panel.getByRole('button', { name: 'Apply 1 file' }).click();
    const really = panel.getByRole('button', { name: 'Apply it all the same' });
    await really.waitFor({ timeout: SEEN_MS });
    expect(existsSync(join(scene.project.root, 'unchecked.txt'))).toBe(false);
    await really.click();
    await panel.getByText('Applied to 1 file.').waitFor({ timeout: SEEN_MS });
    expect(existsSync(join(scene.project.root, 'unchecked.txt'))).toBe(true);
    expect(sent).toEqual(['{}', '{"evenIfCheckFailed":true}']);
  });
}

function watchApplies({ page }: Stage): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/apply')) sent.push(request.postData() ?? '');
  });
  return sent;
}

import { expect, it } from 'vitest';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 60_000;

/** A table that is open follows its filter: what fits now comes, what fits no more goes. */
export function describeLiveFilter(at: () => Stage): void {
  it(
    'a run that ends appears among the ended ones, below a newer one, and leaves the running ones',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go } = at();
      const older = await scene.start('--session', 'live', '--', 'sleep', '300');
      const newer = await scene.start('--session', 'live', '--', 'sleep', '301');
      const rows = page.getByRole('table', { name: 'Runs' }).locator('a[href^="/runs/"]');
      const untilListed = async (...ids: string[]): Promise<void> =>
        await expect
          .poll(() => rows.evaluateAll((links) => links.map((link) => link.getAttribute('href'))), {
            timeout: SEEN_MS,
          })
          .toEqual(ids.map((id) => `/runs/${id}`));
      await go('runs?session=live&status=running');
      await untilListed(newer, older);
      await scene.project.caisson('cancel', newer);
      await untilListed(older);
      await go('runs?session=live&status=error,cancelled');
      await untilListed(newer);
      await scene.project.caisson('cancel', older);
      await untilListed(newer, older);
    },
  );
}

/** Control groups in the kernel, also those that are removed and still in memory. */
import { countMemoryGroups } from '../../../packages/ground/src/cgroup/fixtures/count-memory-groups.ts';
import { until } from '../../e2e/open-project.ts';

/** Other programs of this machine make groups, too; those of our runs are looked for by name (`no-group`). */
const MAX_GROWTH = 20;

/** The kernel takes a removed group out of memory a little later. */
export async function judgeGroups(before: number): Promise<string[]> {
  const growth = (): number => countMemoryGroups() - before;
  await until('the groups are gone', () => growth() <= MAX_GROWTH).catch(() => undefined);
  return growth() <= MAX_GROWTH ? [] : [`groups: the kernel has ${growth()} more memory groups`];
}

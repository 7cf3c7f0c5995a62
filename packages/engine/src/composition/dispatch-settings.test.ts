import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProject } from '../../../../tests/e2e/project.ts';
import { createDispatchSettings } from './dispatch-settings.ts';
import { loadConfig } from './trusted-config.ts';

// Callers that come together come in one moment, however long a busy machine takes for them.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('callers of one host that come together share one list of the private paths, and other projects have their own', async () => {
  const { root, env } = createProject();
  const list = async (flags = {}): Promise<readonly string[]> => {
    const config = await loadConfig({ cwd: root, env, flags });
    return createDispatchSettings(config, env, root).privatePaths();
  };
  const [first, second] = [await list(), await list()];
  expect(second).toBe(first);
  expect(await list({ state: `${root}/elsewhere` })).not.toBe(first);
});

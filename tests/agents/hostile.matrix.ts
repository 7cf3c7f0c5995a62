/** One run per program and setting, in the whole matrix; `npm test` has them together in one cell per program. */
import { beforeAll, describe, it } from 'vitest';
import { isSkipped, prepareAgent, type AgentUnderTest } from './agent-under-test.ts';
import { expectIgnored } from './hostile-run.ts';
import { HOSTILE, START_UP_FILES } from './hostile-settings.ts';

const INSTALL_TIMEOUT_MS = 20 * 60_000;
const RUN_TIMEOUT_MS = 180_000;

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: no agent meets hostile settings.\n');
describe.skipIf(isSkipped).each(Object.entries(HOSTILE))(
  'in a hostile repository %s',
  (name, { settings }) => {
    let agent: AgentUnderTest;
    beforeAll(async () => {
      agent = await prepareAgent(name);
    }, INSTALL_TIMEOUT_MS);
    it.each(settings)(
      'does not obey: $title',
      ({ files, call }) =>
        expectIgnored(agent, { committed: files, ...(call === undefined ? {} : { call }) }),
      RUN_TIMEOUT_MS,
    );
    it.each([...settings.filter(({ call }) => call === undefined), START_UP_FILES])(
      'does not obey where the agent makes it: $title',
      ({ files }) => expectIgnored(agent, { committed: () => ({}), made: files }),
      RUN_TIMEOUT_MS,
    );
  },
);

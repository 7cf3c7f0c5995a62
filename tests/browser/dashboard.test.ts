/** The dashboard in a real browser, on a real daemon with real agents: one browser, one daemon, one page after the other. */
import { afterAll, beforeAll } from 'vitest';
import { describeAccess } from './access.ts';
import { describeAttacks } from './attacks.ts';
import { describeDecisions } from './decisions.ts';
import { describeDeeds } from './deeds.ts';
import { describeHostile } from './hostile.ts';
import { describeLiveFilter } from './live-filter.ts';
import { describeLongLists } from './long-lists.ts';
import { describeManyRuns } from './many-runs.ts';
import { openStage, type Stage } from './open-page.ts';
import { describeOvernight } from './overnight.ts';
import { describeResidents } from './residents.ts';
import { describeRestart } from './restart.ts';
import { describeTaking } from './taking.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
}, 300_000);
afterAll(() => stage.close());

const at = () => stage;
describeAccess(at);
describeDecisions(at);
describeDeeds(at);
describeTaking(at);
describeResidents(at);
describeLiveFilter(at);
describeHostile(at);
describeAttacks(at);
describeRestart(at);
describeManyRuns(at);
describeLongLists(at);
describeOvernight(at);

/** Every change that the OpenAPI description names, made by a client that knows nothing else. */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { changeAll, curl, type Description } from './described-api.ts';
import { createProject } from './project.ts';
import { senseOf, workflowOf } from './resident-project.ts';
import { openVisit } from './visit.ts';

const CONFIG = `
workflows: { flow: { file: flow.ts } }
senses: { looks: { file: sense.ts, interval: 1h } }
`;
const ASKS = 'echo \'{"question":"which?"}\' > .caisson/needs_input.json';

it(
  'takes what it is described to take, refuses anything else, and answers as described',
  { timeout: 180_000 },
  async () => {
    const project = createProject({ config: CONFIG });
    project.write('flow.ts', workflowOf({ only: "log('hello'); return 1;" }));
    project.write('sense.ts', senseOf('state.set("seen", 1);'));
    project.git('add', '-A');
    project.git('commit', '-qm', 'residents');
    const { url, token, createToken, ask } = await openVisit(project);
    onTestFinished(async () => void (await project.caisson('down', '--now')));
    const { runId } = await project.run(
      '--session',
      'team',
      '--',
      'sh',
      '-c',
      'mkdir outputs; echo a > outputs/a; echo b > b',
    );
    await project.run('--', 'sh', '-c', ASKS);
    await createToken('read');
    const tokens = (await ask('GET', '/v1/tokens')).json<{ id: string; name: string }[]>();
    const spare = tokens.find(({ name }) => name === 'for-read')?.id;
    await ask('POST', '/v1/workflows/flow/threads', { body: {} });
    const { text } = await curl(new URL('/v1/openapi.json', url).href, token);
    const values = {
      ...{ run: runId, token: spare, session: 'team', approval: 'approval_none', kind: 'agents' },
      ...{ namespace: 'default', key: 'described' },
      ...{ request: { argv: ['true'] }, to: join(project.root, 'taken'), scopes: ['read'] },
    };
    const omits = ['/v1/stop', '/v1/session'];
    const { differences, done } = await changeAll(JSON.parse(text) as Description, {
      url,
      token,
      values,
      omits,
    });
    expect(differences).toEqual([]);
    expect(done).toEqual(
      expect.arrayContaining([
        ...['POST /v1/runs', 'POST /v1/runs/{run}/apply', 'POST /v1/runs/{run}/verify', 'POST /v1/gc/live'],
        ...['POST /v1/questions/{question}/answer', 'POST /v1/sessions/{session}/board', 'POST /v1/tokens'],
        ...['POST /v1/workflows/{workflow}/threads', 'DELETE /v1/runs/{run}', 'DELETE /v1/tokens/{token}'],
      ]),
    );
  },
);

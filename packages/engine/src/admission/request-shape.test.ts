import { REQUEST_FIELDS, type DispatchRequest } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { TaskRefusedError } from './errors.ts';
import { parseRequest } from './request-shape.ts';

test('a request that was written to disk is the same when it is read', () => {
  const request: DispatchRequest = {
    task: 'paint it',
    argv: ['echo', 'x'],
    network: { kind: 'hosts', hosts: ['a.example:443'] },
    answer: { question: 'Which?', answer: 'blue', questionId: 'q_1' },
    storedInputs: { a: { sha256: 'a'.repeat(64), isExecutable: false } },
    retries: 2,
  };
  expect(parseRequest(JSON.parse(JSON.stringify(request)))).toEqual(request);
});

test.each([
  ['a wrong field', { task: 5 }, '"task" must be a text'],
  ['a wrong field inside', { network: { kind: 'hosts' } }, '"network" must be {kind: "none"}'],
  ['a missing field', { parent: { runId: 'run_x' } }, '"parent" must be a run and its grant'],
  ['an unknown field inside', { limits: { memry: 1 } }, '"limits" has no "memry"'],
  [
    'an unknown field far inside',
    { parent: { runId: 'run_x', grant: { ...SAMPLE_GRANT, limits: { colour: 'red' } } } },
    '"parent" has no "grant.limits.colour"',
  ],
  [
    'a pipeline with a wrong block',
    { pipeline: { schemaVersion: 1, id: 'a.b', blocks: [{ kind: 'agent', ax: 1 }] } },
    'pipeline is malformed: blocks.0',
  ],
  ['an unknown field', { tsak: 'x' }, 'a request has no "tsak"'],
  ['a list', [], 'a request is an object'],
  ['nothing', null, 'a request is an object'],
])('%s is refused wherever it comes from', (_what, value, detail) => {
  expect(() => parseRequest(value)).toThrow(TaskRefusedError);
  expect(() => parseRequest(value)).toThrow(detail);
});

test.each([
  [{ budget: { usdd: 1 } }, 'Did you mean "usd"?'],
  [{ tsak: 'x' }, 'Did you mean "task"?'],
])('a mistyped field of %j comes with the right one', (value, remedy) => {
  expect(() => parseRequest(value)).toThrow(expect.objectContaining({ remedy }));
});

test('no member of a request takes a symbol', () => {
  for (const member of Object.keys(REQUEST_FIELDS))
    expect(() => parseRequest({ [member]: Symbol('wrong') }), member).toThrow(`"${member}" must be`);
});

test('the compiler knows the members of a request', () => {
  const requests: DispatchRequest[] = [
    // @ts-expect-error -- a number where a text belongs
    { task: 5 },
    // @ts-expect-error -- nobody knows it
    { tsak: 'x' },
  ];
  for (const request of requests) expect(() => parseRequest(request)).toThrow(TaskRefusedError);
});

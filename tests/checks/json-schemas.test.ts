import { BusTopic, EVENTS, WORKER_LINES } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { createJsonSchemas } from '../../scripts/docs/json-schemas.ts';

const pages = new Map(createJsonSchemas());

it('everything that other programs read or write has a JSON Schema', () => {
  const named =
    'task job grant control-message worker-header result dispatch-result pipeline-spec needs-input question handoff config-file event-envelope failure run-id';
  const wanted = [
    ...named.split(' '),
    ...Object.keys(WORKER_LINES).map((kind) => `worker-lines/${kind}`),
    ...Object.values(BusTopic).map((topic) => `bus/${topic.slice('caisson:'.length)}`),
    ...Object.keys(EVENTS).map((type) => `events/${type}`),
  ];
  expect(wanted.filter((name) => !pages.has(`schemas/${name}.schema.json`))).toEqual([]);
});

it('each is of the 2020-12 dialect and has a title', () => {
  for (const [name, text] of pages)
    expect(JSON.parse(text), name).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: expect.any(String),
    });
});

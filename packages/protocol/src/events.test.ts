import { describe, expect, it, test } from 'vitest';
import { conversationEvents } from './conversation-events.ts';
import { parseEnvelope, toEnvelope, toWire, type EventPlace } from './event-envelope.ts';
import { EVENTS, findMisfit, identifyEvent, knownTypeOf, type DataOf, type EventType } from './events.ts';
import { SAMPLE_DATA, sampleEnvelope } from './fixtures/sample-events.ts';
import { lifecycleEvents } from './lifecycle-events.ts';
import { residentEvents } from './resident-events.ts';
import { runEvents } from './run-events.ts';
import { workEvents } from './work-events.ts';

const TYPES = Object.keys(EVENTS) as EventType[];

test('no event is defined in two tables', () => {
  const tables = [lifecycleEvents, runEvents, conversationEvents, workEvents, residentEvents];
  expect(tables.flatMap((table) => Object.keys(table)).toSorted()).toEqual(TYPES.toSorted());
});

test('no event has a field that its envelope has, too', () => {
  type FieldsOf<T extends EventType> = string extends keyof DataOf<T> ? never : keyof DataOf<T>;
  type Clash = { [T in EventType]: FieldsOf<T> }[EventType] & (keyof EventPlace | 'type');
  const clash: Clash[] = [];
  // @ts-expect-error -- nothing is of this type
  clash.push('seq');
  const { type: _, ...place } = sampleEnvelope('run.forgotten');
  const fields = new Set(TYPES.flatMap((type) => Object.keys(EVENTS[type].data.shape)));
  expect(['type', ...Object.keys(place)].filter((name) => fields.has(name))).toEqual([]);
});

describe.each(TYPES)('%s', (type) => {
  const data = SAMPLE_DATA[type];

  it('is what it says, and is the same after a trip over the wire', () => {
    expect(findMisfit(type, data)).toBeNull();
    const envelope = sampleEnvelope(type);
    expect(parseEnvelope(JSON.parse(JSON.stringify(toWire(envelope))))).toEqual(envelope);
  });

  it('may not lack a field, nor have one that nobody defined', () => {
    for (const field of Object.keys(data)) {
      const without = Object.fromEntries(Object.entries(data).filter(([name]) => name !== field));
      expect(findMisfit(type, without), field).toContain(`${field} (`);
      expect(identifyEvent(type, without).type).toBe('unknown');
      expect(findMisfit(type, { ...data, [field]: Symbol('wrong') }), field).not.toBeNull();
    }
    expect(findMisfit(type, { ...data, colour: 'red' })).toBe(`${type} has no field colour`);
  });
});

test('an event that does not exist is named nowhere', () => {
  const event = identifyEvent('run.moved', {});
  const isNamed = [
    // @ts-expect-error -- no event has this name
    event.type === 'run.moved',
    // @ts-expect-error -- nor has one that this version does not know
    knownTypeOf(event) === 'run.moved',
  ];
  expect([isNamed, knownTypeOf(event)]).toEqual([[false, false], 'unknown']);
});

test('what does not fit is named without its value', () => {
  const misfit = findMisfit('warning', { source: 'hunter2', message: ['hunter2'] });
  expect(misfit).toBe('the data of warning does not fit: message (invalid_type)');
  expect(findMisfit('run.moved', {})).toBe('there is no event run.moved');
  expect(findMisfit('toString', {})).toBe('there is no event toString');
});

test('a known event keeps every field that was stored, also one of a newer version', () => {
  const stored = { position: 1, limit: 2, shelf: 'top' };
  const identified = identifyEvent('run.queued', stored);
  expect(identified).toEqual({ type: 'run.queued', data: stored });
  expect(identified.data).toBe(stored);
});

test('an event of a newer version goes over the wire as that version wrote it', () => {
  const { type: _, ...place } = sampleEnvelope('run.forgotten');
  const line = { ...place, type: 'run.moved', to: 'mars' };
  const envelope = parseEnvelope(line);
  expect(envelope).toEqual({ ...place, type: 'unknown', recordedType: 'run.moved', data: { to: 'mars' } });
  expect(toWire(envelope)).toEqual(line);
  expect(() => parseEnvelope({ to: 'mars' })).toThrow();
});

test.each(['run.queued', 'run.moved'])('the data of %s cannot replace the place or the type', (type) => {
  const { type: _, ...place } = sampleEnvelope('run.forgotten');
  const data = { position: 1, limit: 2, seq: 99, runId: 'run_of_another', type: 'dispatch.finished' };
  const envelope = toEnvelope({ ...place, ...identifyEvent(type, data) });
  expect(toWire(envelope)).toEqual({ ...place, type, position: 1, limit: 2 });
});

test('the compiler knows the fields of each event, and which there are', () => {
  const event = toEnvelope({
    ...sampleEnvelope('gap'),
    ...identifyEvent('run.queued', { position: 1, limit: 2 }),
  });
  // @ts-expect-error -- not before its type is known
  expect(event.position).toBe(1);
  if (event.type === 'run.queued') expect(event.limit).toBe(2);
  // @ts-expect-error -- a warning has no position
  if (event.type === 'warning') expect(event.position).toBe(1);
  // @ts-expect-error -- there is no such event
  expect(event.type === 'run.moved').toBe(false);
});

import { NOT_IN_RUN_CONFIG, RUN_CONFIG } from '@caisson/protocol';
import { globalRegistry } from 'zod/mini';
import { expect, test } from 'vitest';
import { RUN_OPTIONS } from './run-options.ts';

const toKey = (option: string): string =>
  option.replaceAll(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());

test('every option of run is a key of a schedule, or has a reason why not', () => {
  const described = Object.values(RUN_CONFIG).map((schema) => globalRegistry.get(schema)?.description ?? '');
  const options = Object.keys(RUN_OPTIONS);
  const keys = options.filter((option) => described.some((text) => text.includes(`run --${option}`)));
  expect(
    options
      .filter((option) => !keys.includes(option))
      .map(toKey)
      .sort(),
  ).toEqual(Object.keys(NOT_IN_RUN_CONFIG).sort());
  const known = new Set(options.map((option) => `--${option}`));
  const strange = described.filter((text) => !known.has(/run (--[a-z-]+)/.exec(text)?.[1] ?? ''));
  expect(strange).toEqual([]);
});

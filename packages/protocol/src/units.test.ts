import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatDuration, formatSize, parseDuration, parseSize, UnitError } from './units.ts';

it('reads durations in every unit, combined, and bare seconds', () => {
  expect(['500ms', '45s', '30m', '1h30m', '2d', '1.5h', 90, '90'].map((text) => parseDuration(text))).toEqual(
    [500, 45_000, 1_800_000, 5_400_000, 172_800_000, 5_400_000, 90_000, 90_000],
  );
});

it('reads sizes in multiples of 1024, with and without the long unit', () => {
  expect(['1b', '1k', '512m', '4g', '4G', '4GiB', '4gb', '1.5g', '4096 b'].map(parseSize)).toEqual([
    1, 1024, 536_870_912, 4_294_967_296, 4_294_967_296, 4_294_967_296, 4_294_967_296, 1_610_612_736, 4096,
  ]);
});

it('refuses what is not a duration or a size, and says how to write one', () => {
  for (const bad of [
    '',
    '30 minutes',
    'm',
    '-5s',
    '0',
    '0s',
    'NaN',
    'Infinity',
    '1e9d',
    '5x',
    '99999999999999999d',
  ]) {
    expect(() => parseDuration(bad), bad).toThrow(UnitError);
    expect(() => parseSize(bad === '30 minutes' ? '4 gigs' : bad), bad).toThrow(UnitError);
  }
  expect(() => parseSize('2000000')).toThrow(/"2000000" is not a size.*with its unit.*512m/);
  expect(() => parseDuration('30 minutes')).toThrow(/"30 minutes" is not a duration.*1h30m/);
});

it('writes a duration that reads back to the same value', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 ** 12 }), (ms) => parseDuration(formatDuration(ms)) === ms),
  );
  expect(formatDuration(5_400_000)).toBe('1h30m');
  expect(formatSize(4 * 1024 ** 3)).toBe('4g');
});

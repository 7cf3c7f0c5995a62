import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseBundle, CLIENT_COMMANDS, LIGHT_COMMANDS, withCommandFirst } from './choose-bundle.ts';
import { COMMON_OPTIONS, type OptionSpec } from './command.ts';
import { COMMANDS } from './command-table.ts';

let project = '';

beforeEach(() => {
  project = mkdtempSync(join(realpathSync(tmpdir()), 'caisson-bundle-'));
  mkdirSync(join(project, '.caisson/runtime'), { recursive: true });
  mkdirSync(join(project, 'src/deep'), { recursive: true });
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

const addSocket = (): void => writeFileSync(join(project, '.caisson/runtime/daemon.sock'), '');

describe('the bundle of a command line', () => {
  it('is the one of a client where a daemon has a socket, also from a folder of the project', () => {
    addSocket();
    expect(chooseBundle('runs', [], project)).toBe('caisson-client');
    expect(chooseBundle('attach', [], project)).toBe('caisson-client');
    expect(chooseBundle('branches', [], project)).toBe('caisson-client');
    expect(chooseBundle('run', ['--', 'true'], join(project, 'src/deep'))).toBe('caisson-client');
  });

  it('is the whole one without a daemon, and for a command that a daemon does not carry out', () => {
    expect(chooseBundle('runs', [], project)).toBe('caisson');
    addSocket();
    expect(chooseBundle('doctor', [], project)).toBe('caisson');
  });

  it('is the whole one with --no-daemon, unless it is a word of another program', () => {
    addSocket();
    expect(chooseBundle('run', ['--no-daemon', '--', 'true'], project)).toBe('caisson');
    expect(chooseBundle('run', ['--', 'caisson', '--no-daemon'], project)).toBe('caisson-client');
  });

  it.each(['version', '--version', '-V', '--help'])('is the light one for %s', (word) => {
    addSocket();
    expect(chooseBundle(word, [], project)).toBe('caisson-light');
  });

  it('is chosen by names that are commands', () => {
    const names = COMMANDS.map(({ name }) => name.split(' ')[0]);
    expect(names).toEqual(expect.arrayContaining([...CLIENT_COMMANDS, ...LIGHT_COMMANDS]));
  });
});

describe('an option that every command understands', () => {
  const options = Object.entries<OptionSpec>(COMMON_OPTIONS).filter(([name]) => name !== 'help');
  const written = options.flatMap(([name, { type, short }]) =>
    type === 'boolean'
      ? [[`--${name}`]]
      : [
          [`--${name}`, 'x'],
          [`--${name}=x`],
          ...(short === undefined ? [] : [[`-${short}`, 'x'], [`-${short}x`]]),
        ],
  );

  it.each(written)('may stand before the command: %s %s', (...words) => {
    const given = words.filter((word) => typeof word === 'string');
    expect(withCommandFirst([...given, 'threads', 'list', '--x'])).toEqual([
      'threads',
      'list',
      '--x',
      ...given,
    ]);
    expect(withCommandFirst([...given, 'run', '--', '-o'])).toEqual(['run', ...given, '--', '-o']);
    expect(withCommandFirst(given)).toEqual(given);
  });

  it('stays where it is behind the command, and so does any other option', () => {
    for (const words of [['gc', '-o', 'json'], ['--older-than', '3d', 'gc'], ['--help', '-o', 'json'], []])
      expect(withCommandFirst(words)).toEqual(words);
  });
});

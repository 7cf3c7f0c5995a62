import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseBundle, CLIENT_COMMANDS, LIGHT_COMMANDS } from './choose-bundle.ts';
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

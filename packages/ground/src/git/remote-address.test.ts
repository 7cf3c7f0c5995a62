import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  demandOwnFolder,
  isReadableOnTheWay,
  parseRemoteAddress,
  RemoteAddressError,
} from './remote-address.ts';

const parse = (text: string) => parseRemoteAddress(text, '/srv/project');

describe('an address', () => {
  it.each([
    ['https://git.example/team/app.git', 'https://git.example/team/app.git', 'https://git.example'],
    ['HTTPS://Git.Example:8443/a b', 'https://git.example:8443/a%20b', 'https://git.example:8443'],
    ['https://git.example:443/a', 'https://git.example/a', 'https://git.example'],
    ['https://xn--bcher-kva.example/a', 'https://xn--bcher-kva.example/a', 'https://xn--bcher-kva.example'],
    ['http://127.0.0.1:80/a', 'http://127.0.0.1/a', 'http://127.0.0.1'],
    ['http://[::1]:8080/a', 'http://[::1]:8080/a', 'http://[::1]:8080'],
  ])('over http has an origin: %s', (text, url, origin) => {
    expect(parse(text)).toEqual({ protocol: origin.slice(0, origin.indexOf(':')), url, origin });
  });

  it.each([
    'ssh://git@git.example/team/app.git',
    'ssh://git.example:2222/~/app',
    'ssh://git@[::1]:22/app',
    'git@git.example:team/app.git',
    'git.example:app',
    'git@[::1]:app',
  ])('over ssh goes to git as it is: %s', (url) => {
    expect(parse(url)).toEqual({ protocol: 'ssh', url });
  });

  it.each([
    ['/srv/app.git', '/srv/app.git'],
    ['app.git', '/srv/project/app.git'],
    ['../app.git', '/srv/app.git'],
    ['./odd:name', '/srv/project/odd:name'],
    ['file:///srv/a%20b.git', '/srv/a b.git'],
  ])('on this machine is an absolute path: %s', (text, url) => {
    expect(parse(text)).toEqual({ protocol: 'file', url });
  });

  it.each([
    ['nothing', ''],
    ['a line break', 'https://git.example/a\nhost=evil.example'],
    ['too many characters', `https://git.example/${'a'.repeat(2048)}`],
    ['an option', '--upload-pack=touch /tmp/x'],
    ['a program', 'ext::sh -c touch% /tmp/x'],
    ['a program without a name', '::sh'],
    ['another protocol', 'git://git.example/a'],
    ['a protocol that git hands on', 'ftp://git.example/a'],
    ['no host', 'https:///'],
    ['a setting of git as its host', 'https://.helper=!touch${IFS}x;/a'],
    ['a host with an option', 'ssh://-oProxyCommand=x/a'],
    ['a user with an option', 'ssh://-oProxyCommand=x@git.example/a'],
    ['a user that cannot be decoded', 'ssh://%ff@git.example/a'],
    ['a user that hides its characters', 'ssh://%2doProxyCommand@git.example/a'],
    ['no path over ssh', 'ssh://git.example'],
    ['a query over ssh', 'ssh://git.example/a?b'],
    ['a short host with an option', '-oProxyCommand=x:a'],
    ['a short user with an option', 'git -o@git.example:a'],
    ['a short path with an option', 'git.example:-x'],
    ['a short address without a path', 'git.example:'],
    ['a file of another host', 'file://git.example/a'],
    ['a file with a query', 'file:///a?b'],
    ['a file that cannot be decoded', 'file:///%ff'],
    ['a file with a hidden slash', 'file:///a%2fb'],
  ])('with %s is refused', (_, text) => {
    expect(() => parse(text)).toThrow(RemoteAddressError);
  });

  it.each([
    'https://s3cret@git.example/a',
    'https://me:s3cret@git.example/a',
    'https://git.example/a?private_token=s3cret',
    'https://git.example/a#s3cret',
    'ssh://me:s3cret@git.example/a',
  ])('with a secret is refused, and the secret not repeated: %s', (text) => {
    expect(() => parse(text)).toThrow(/^(?!.*s3cret)the address of the repository has/);
  });

  it('can be read on its way only over http to another machine', () => {
    const readable = ['http://git.example/a', 'http://127.0.0.1.example/a', 'http://10.0.0.1/a'];
    const safe = [
      'https://git.example/a',
      'http://localhost/a',
      'http://127.1.2.3/a',
      'http://[::1]/a',
      '/a',
    ];
    expect(readable.map((text) => isReadableOnTheWay(parse(text)))).toEqual([true, true, true]);
    expect(safe.map((text) => isReadableOnTheWay(parse(text)))).toEqual(safe.map(() => false));
  });
});

describe('a repository on this machine', () => {
  const STRANGER = 31_234;
  function createFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-address-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, '.git'));
    return folder;
  }
  const demand = (path: string) => (): void => demandOwnFolder(parse(path));

  it('is a folder that is there', () => {
    const folder = createFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(demand(folder)).not.toThrow();
    expect(demand('https://git.example/a')).not.toThrow();
    expect(demand(join(folder, 'none'))).toThrow('is not there');
    expect(demand(join(folder, 'file/below'))).toThrow('is not there');
    expect(demand(join(folder, 'file'))).toThrow('is not a folder');
  });

  it('of another user is refused, also where only its .git is theirs', () => {
    if (process.getuid?.() !== 0) return expect(demand('/')).toThrow('belongs to another user');
    for (const theirs of ['', '.git']) {
      const folder = createFolder();
      chownSync(join(folder, theirs), STRANGER, STRANGER);
      expect(demand(folder)).toThrow('belongs to another user');
    }
  });
});

import { describe, expect, it } from 'vitest';
import { createHostRules, parseTarget } from './host-rules.ts';
import { isPrivateAddress } from './vetted-lookup.ts';

describe('a target', () => {
  it.each([
    ['Registry.Example:443', 'registry.example:443'],
    ['registry.example.:443', 'registry.example:443'],
    ['[2001:DB8::0:1]:443', '[2001:db8::1]:443'],
    ['[::ffff:127.0.0.1]:80', '[::ffff:7f00:1]:80'],
    ['0x7f.1:80', '127.0.0.1:80'],
    ['2130706433:80', '127.0.0.1:80'],
    ['017700000001:80', '127.0.0.1:80'],
    ['bücher.example:443', 'xn--bcher-kva.example:443'],
    ['my_host:8080', 'my_host:8080'],
  ])('%s has the one spelling %s', (text, expected) => {
    expect(parseTarget(text)?.text).toBe(expected);
  });

  it.each([
    'registry.example',
    'registry.example:0',
    'registry.example:65536',
    'user@registry.example:443',
    'registry.example:443/path',
    'registry.example:443#x',
    '::1:443',
    '[::1:443',
    ':443',
    '.:443',
    'a b:443',
    '',
  ])('%j is none', (text) => {
    expect(parseTarget(text)).toBeNull();
  });

  it('is allowed by its own rule alone: no other port, no subdomain, no parent', () => {
    const rules = createHostRules(['Api.Example:443', '[::1]:9000']);
    const allowed = (text: string): boolean => {
      const target = parseTarget(text);
      return target !== null && rules.allows(target);
    };
    expect(['api.example:443', 'API.example.:443', '[0::1]:9000'].map(allowed)).toEqual([true, true, true]);
    expect(
      ['api.example:80', 'x.api.example:443', 'example:443', 'api.example.evil:443', '127.0.0.1:9000'].map(
        allowed,
      ),
    ).toEqual([false, false, false, false, false]);
    expect([rules.allowsAddress('::1', 9000), rules.allowsAddress('::1', 9001)]).toEqual([true, false]);
  });
});

describe('an address', () => {
  it.each(
    '127.0.0.1 127.9.9.9 0.0.0.0 10.0.0.1 100.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 224.0.0.1 255.255.255.255 ::1 :: ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1:: fd00:ec2::254 fe80::1 ff02::1'.split(
      ' ',
    ),
  )('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each(
    '1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 169.253.1.1 ::ffff:8.8.8.8 2606:4700::1111 2a00:1450::1'.split(
      ' ',
    ),
  )('%s is public', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

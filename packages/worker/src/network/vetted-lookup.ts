/** N3: names are resolved here, on the host, and their addresses are checked before anything connects. */
import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';
import type { NetworkSettings } from './contract.ts';
import { PrivateAddressError } from './errors.ts';

const PRIVATE_RANGES: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const privateAddresses = new BlockList();
for (const [network, bits] of PRIVATE_RANGES)
  privateAddresses.addSubnet(network, bits, isIPv6(network) ? 'ipv6' : 'ipv4');

/** Loopback, link-local (cloud metadata), private, shared, multicast, reserved, and what tunnels IPv4 inside IPv6. */
export function isPrivateAddress(address: string): boolean {
  return privateAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

export type ResolveName = NonNullable<NetworkSettings['resolveName']>;

/** The system's own resolver, so that `/etc/hosts` and the like count. */
export function resolveBySystem(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });
}

/** A lookup for `net.connect` that returns only addresses that may be reached. */
export function createVettedLookup(
  resolveName: ResolveName,
  isGranted: (address: string) => boolean,
): LookupFunction {
  return (name, options, callback) => {
    resolveName(name)
      .then((all) => {
        const usable = all.filter(({ address }) => !isPrivateAddress(address) || isGranted(address));
        const first = usable[0];
        if (first === undefined) callback(refusal(name, all), '', 0);
        else if (options.all === true) callback(null, [...usable]);
        else callback(null, first.address, first.family);
      })
      .catch((error: NodeJS.ErrnoException) => callback(error, '', 0));
  };
}

function refusal(name: string, all: readonly LookupAddress[]): PrivateAddressError {
  const found = all.map(({ address }) => address).join(', ') || 'no address';
  return new PrivateAddressError(
    `${name} resolves to ${found}, which is not a public address; grant that address itself if you want that`,
  );
}

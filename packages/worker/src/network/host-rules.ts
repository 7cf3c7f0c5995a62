/** Exact `host:port` rules. Both sides are normalised first: `0x7f.1`, `[::0:1]` and `A.b.` cannot pass unnoticed. */
import { isIP } from 'node:net';

export interface Target {
  /** Lower case, without a trailing dot; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** `host:port`, with brackets where they belong. */
  readonly text: string;
  readonly isAddress: boolean;
}

export interface HostRules {
  allows(target: Target): boolean;
  /** Whether this very address was granted for this port. */
  allowsAddress(address: string, port: number): boolean;
  readonly texts: readonly string[];
}

/** Reads `host:port`; null when it is invalid. */
export function parseTarget(text: string, defaultPort?: number): Target | null {
  const match = /^(\[[^\]]+\]|[^:[\]@/?#\s]+)(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return null;
  const port = match[2] === undefined ? defaultPort : Number(match[2]);
  if (port === undefined || port < 1 || port > 65_535) return null;
  const host = canonicalHost(match[1] ?? '');
  if (host === null) return null;
  const isAddress = isIP(host) !== 0;
  return { host, port, isAddress, text: `${host.includes(':') ? `[${host}]` : host}:${port}` };
}

export function createHostRules(rules: readonly string[]): HostRules {
  const texts = rules.map((rule) => parseTarget(rule)?.text).filter((text) => text !== undefined);
  const granted = new Set(texts);
  return {
    texts,
    allows: (target) => granted.has(target.text),
    allowsAddress: (address, port) =>
      granted.has(
        parseTarget(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`)?.text ?? '',
      ),
  };
}

function canonicalHost(host: string): string | null {
  const url = URL.parse(`http://${host}/`);
  if (url === null) return null;
  const plain = url.hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '');
  return plain === '' ? null : plain;
}

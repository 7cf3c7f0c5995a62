import { createHmac } from 'node:crypto';

/** `sha256=` and the HMAC of `runId.timestamp.body`, in hex. */
export function signCallback(key: string, runId: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', key).update(`${runId}.${timestamp}.${body}`).digest('hex')}`;
}

/** An address as it may be shown: credentials and query can be secrets. */
export function describeUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Where a host listens, under which names, and with which certificate (F1, F5). */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { ApiConfig, FaceOrder } from '@caisson/protocol';
import { VisitRefusedError } from '../platform/index.ts';

export const LOOPBACK = '127.0.0.1';

export interface ListenPlace {
  /** Without brackets. */
  readonly host: string;
  /** Absent: the last one, or a free one. */
  readonly port?: number;
}

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The part of an order or a setting that says where; null where none does. */
export function readPlace({ listen, port: asked }: FaceOrder): ListenPlace | null {
  if (listen === undefined) return null;
  const [, bracketed, plain, digits] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(listen) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = digits === undefined ? asked : Number(digits);
  if (isIP(host) === 0 || (port ?? 0) > 65_535)
    throw new VisitRefusedError(400, 'USAGE', `${listen} is no address that one can listen on`);
  return { host, ...(port === undefined || port === 0 ? {} : { port }) };
}

export function isLoopback(host: string): boolean {
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** F5: what is asked beyond the loopback address without TLS, or without a name, is refused. Null on the loopback address. */
export function readCertificate(
  host: string,
  { certificate, key, names = [] }: ApiConfig,
): Certificate | null {
  if (isLoopback(host)) return null;
  if (certificate === undefined || key === undefined)
    throw new VisitRefusedError(
      409,
      'TLS_REQUIRED',
      `${host} can be reached from other machines, and there is no certificate: tokens could be read on the way`,
      'Set api.certificate and api.key in your own config.yaml (~/.config/caisson), or listen on 127.0.0.1 and use a tunnel: ssh -L 8417:127.0.0.1:8417 HOST.',
    );
  if (isEverywhere(host) && names.length === 0)
    throw new VisitRefusedError(
      409,
      'NAME_REQUIRED',
      `without a name, every host name would be ours on ${host}`,
      'Set api.names in your own config.yaml to the host names of the certificate.',
    );
  try {
    const found = { cert: readFileSync(certificate), key: readFileSync(key) };
    createSecureContext(found);
    return found;
  } catch (error) {
    const what = `the certificate and its key cannot be used: ${(error as Error).message}`;
    throw new VisitRefusedError(409, 'TLS_UNREADABLE', what, 'See api.certificate and api.key.');
  }
}

/** What the user's file asks for must be possible: a daemon that cannot do it safely does not start (F5). */
export function requireSafeListening(api: ApiConfig): void {
  const place = readPlace(api);
  if (place !== null) readCertificate(place.host, api);
}

/** Every address of a page that we answer to, the one for people first. */
export function listOrigins({ host, port }: Required<ListenPlace>, { names = [] }: ApiConfig): string[] {
  const own = isIP(host) === 6 ? `[${host}]` : host;
  if (isLoopback(host)) return [originOf('http', own, port)]; // localhost is ::1, too, which we do not hold
  return [...names, ...(isEverywhere(host) ? [] : [own])].map((name) => originOf('https', name, port));
}

/** As browsers write it: without the port that the scheme has by default. */
function originOf(scheme: string, name: string, port: number): string {
  return new URL(`${scheme}://${name}:${port}`).origin;
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

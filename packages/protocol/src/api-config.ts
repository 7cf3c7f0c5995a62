import * as z from 'zod/mini';
import { list, optional, text } from './config-values.ts';

const LISTEN = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;

/** `ADDRESS` or `ADDRESS:PORT`; an address of IPv6 is in brackets. */
export const ListenAddress = z
  .string()
  .check(z.regex(LISTEN, 'must be an IP address with or without a port, for example 127.0.0.1:8417'));

/** Where daemons listen beside their sockets. Of the user's own file alone: a project opens no port. */
export const ApiConfig = z.strictObject({
  listen: optional(
    'ask',
    ListenAddress,
    'Address and port on which each daemon listens from its start; without a port, the last one or a free one. Beyond the loopback address only with a certificate. Also caisson ui --listen.',
  ),
  names: optional(
    'ask',
    list(
      z
        .string()
        .check(
          z.regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'must be a host name in lowercase'),
          z.maxLength(253),
        ),
      16,
    ),
    'Host names under which it answers beyond the loopback address; those of the certificate.',
  ),
  certificate: optional('ask', text(), 'PEM file with the certificate for HTTPS, and the chain behind it.'),
  key: optional('ask', text(), 'PEM file with the private key of that certificate.'),
});
export type ApiConfig = z.output<typeof ApiConfig>;

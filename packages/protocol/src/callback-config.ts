/** An address that gets the endings of runs. */
import * as z from 'zod/mini';
import { address, described, list, optional, SecretRef } from './config-values.ts';
import { CALLBACK_TYPES } from './events.ts';

export const CallbackConfig = z.strictObject({
  url: described('ask', address(), 'Address that gets the events.'),
  key: optional('ask', SecretRef, 'Where the signing key is; without one the signature header is left out.'),
  authorization: optional('ask', SecretRef, 'Where a bearer token for the endpoint is.'),
  when: optional(
    'ask',
    list(z.enum(CALLBACK_TYPES)),
    'Event types to send, for example dispatch.finished or question.asked. Default: the terminal ones.',
  ),
});

import type { ErrorKind, WireError } from './wire.ts';

/** The error body that both OpenAI formats share. */
export function openAiError(kind: ErrorKind, detail?: string): WireError {
  const known = {
    '401': {
      status: 401,
      type: 'invalid_request_error',
      code: 'invalid_api_key',
      message: 'Incorrect API key provided.',
    },
    '429': {
      status: 429,
      type: 'requests',
      code: 'rate_limit_exceeded',
      message: 'Rate limit reached for requests.',
    },
    '529': {
      status: 529,
      type: 'server_error',
      code: 'server_is_overloaded',
      message: 'The server is overloaded.',
    },
    '500': { status: 500, type: 'server_error', code: null, message: 'The server had an error.' },
    'context-overflow': {
      status: 400,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    },
    'bad-request': { status: 400, type: 'invalid_request_error', code: null, message: 'bad request' },
  }[kind];
  const error = { message: detail ?? known.message, type: known.type, param: null, code: known.code };
  const body = { error };
  return { status: known.status, body, ...(kind === '429' ? { headers: { 'retry-after': '1' } } : {}) };
}

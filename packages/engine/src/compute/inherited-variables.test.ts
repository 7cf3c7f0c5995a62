import { expect, test } from 'vitest';
import { inheritVariables } from './inherited-variables.ts';

test('a worker trusts the same certificates as its host, and inherits nothing else', () => {
  const kept = { TMPDIR: '/t', NODE_EXTRA_CA_CERTS: '/ca.pem', NODE_USE_SYSTEM_CA: '1' };
  const env = {
    ...kept,
    SSL_CERT_FILE: '',
    MODEL_KEY: 'sk-1',
    NODE_OPTIONS: '--require ./x.js --use-system-ca --inspect  --dns-result-order=ipv4first',
  };
  expect(inheritVariables(env)).toEqual({
    ...kept,
    NODE_OPTIONS: '--use-system-ca --dns-result-order=ipv4first',
  });
  expect(inheritVariables({ NODE_OPTIONS: '--require ./x.js' })).toEqual({});
});

import { definedOnly } from '@caisson/protocol';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SecretSource, SecretsOptions } from './contract.ts';
import { FETCH_TIMEOUT_MS, MAX_SECRET_BYTES } from './limits.ts';

type Sdk = typeof import('@aws-sdk/client-secrets-manager');

/** `aws-sm:NAME` or `aws-sm:NAME#KEY`, where the secret is a JSON object. NAME may be an ARN. */
export function createAwsSource(options: SecretsOptions): SecretSource {
  let loading: Promise<{ sdk: Sdk; client: SecretsManagerClient }> | null = null;
  return {
    isKept: true,
    check(what) {
      const { id, key } = split(what);
      if (id === '') return 'there is no name before the #';
      return key === '' ? 'there is no key after the #' : null;
    },
    async fetch(what, signal) {
      const { id, key } = split(what);
      loading ??= load(options);
      const { sdk, client } = await loading;
      const command = new sdk.GetSecretValueCommand({ SecretId: id });
      const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]);
      const answer = await client.send(command, { abortSignal: limit }).catch((error: Error) => {
        throw new Error(`Secrets Manager answered ${error.name}: ${error.message}`, { cause: error });
      });
      const text = answer.SecretString ?? Buffer.from(answer.SecretBinary ?? []).toString('utf8');
      if (text.length > MAX_SECRET_BYTES) throw new Error(`it has more than ${MAX_SECRET_BYTES} bytes`);
      return key === null ? text : pick(text, key);
    },
  };
}

/** The SDK is loaded with the first reference that needs it: it costs start time. */
async function load(options: SecretsOptions): Promise<{ sdk: Sdk; client: SecretsManagerClient }> {
  const { env, aws } = options;
  const sdk = await import('@aws-sdk/client-secrets-manager');
  const endpoint = aws?.endpoint ?? env['AWS_ENDPOINT_URL_SECRETS_MANAGER'] ?? env['AWS_ENDPOINT_URL'];
  const region = aws?.region ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'];
  const accessKeyId = env['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = env['AWS_SECRET_ACCESS_KEY'];
  const sessionToken = env['AWS_SESSION_TOKEN'];
  const client = new sdk.SecretsManagerClient({
    maxAttempts: 2,
    ...definedOnly({ endpoint, region }),
    // Without keys in the environment the SDK uses its usual chain: profiles, roles, instance metadata.
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...definedOnly({ sessionToken }),
          },
        }),
  });
  return { sdk, client };
}

function split(what: string): { id: string; key: string | null } {
  const at = what.lastIndexOf('#');
  return at === -1 ? { id: what, key: null } : { id: what.slice(0, at), key: what.slice(at + 1) };
}

/** K1: the parser's own message quotes the text, so it is not passed on. */
function pick(text: string, key: string): string {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    throw new Error(`it is not JSON, so it has no key "${key}"`);
  }
  const value: unknown =
    typeof object === 'object' && object !== null && Object.hasOwn(object, key)
      ? (object as Record<string, unknown>)[key]
      : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new Error(value === undefined ? `it has no key "${key}"` : `its key "${key}" is not a text`);
}

/** A request with an idempotency key is carried out once; a repeat gets the answer of the first one. */
import type { ApiHost, Entrance } from './contract.ts';
import type { OperationName } from './operations.ts';
import { InputInvalidError } from './problems.ts';
import type { Call } from './read-input.ts';

const MAX_KEY_LENGTH = 256;
/** What they answer is never written down: a token is shown once, and a request may have values of variables. */
const SECRET: ReadonlySet<OperationName> = new Set(['createToken', 'continuation']);
/** A POST for what it says, and it changes nothing: a repeat may look again. */
const LOOKS: ReadonlySet<OperationName> = new Set(['verify']);
/** The key of its caller, of the header or `named` in the body, apart from those of others with the same words. */
export function readKey({ req, env }: Call, entrance: Entrance, named?: string): string | undefined {
  const key = req.header('idempotency-key') ?? named;
  if (key === undefined || entrance.ownerOf === undefined) return key;
  if (key === '' || key.length > MAX_KEY_LENGTH)
    throw new InputInvalidError(`an idempotency key has 1 to ${MAX_KEY_LENGTH} characters`);
  return `${entrance.ownerOf(env.incoming)}:${key}`;
}

export async function answerOnce(
  context: Call,
  { host, entrance }: { readonly host: ApiHost; readonly entrance: Entrance },
  name: OperationName,
  given: object,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const key = context.req.method === 'POST' && !LOOKS.has(name) ? readKey(context, entrance) : undefined;
  if (key === undefined) return work();
  const { caller: _caller, ...asked } = given as { readonly caller?: unknown };
  const earlier = await host.kept.begin(key, JSON.stringify([name, asked]));
  if (earlier !== null) {
    context.header('idempotency-replayed', 'true');
    return earlier.answer;
  }
  const answer = await doOrDrop(host, key, work);
  // What fails now changes nothing about what was done: the key stays taken.
  await host.kept.finish(key, answer, SECRET.has(name));
  return answer;
}

/** A repeat is refused for a day: it cannot know whether this was done. */
function describeKept(failure: unknown): string {
  return `the idempotency key of a request that failed stays taken: ${(failure as Error).message}`;
}

async function doOrDrop(
  { kept, warn }: ApiHost,
  key: string,
  work: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return (await work()) ?? null;
  } catch (error) {
    await kept.drop(key).catch((failure: unknown) => warn(describeKept(failure)));
    throw error;
  }
}

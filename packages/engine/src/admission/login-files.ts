/**
 * A run with its user's own log-in instead of a key. The token is then inside the sandbox, which is recorded as
 * `credential: inside` (decision 0028).
 */
import type { FoundRuntime } from './rooms.ts';

/** The runtime as a run with the user's log-in uses it: at the address that the log-in is for, without a key. */
export function withLogin(runtime: FoundRuntime): FoundRuntime {
  const { endpoint, descriptor } = runtime;
  const isChosen = endpoint !== null && endpoint !== descriptor.defaultEndpoint;
  return {
    ...runtime,
    login: true,
    apiKeyRef: null,
    endpoint: isChosen ? endpoint : (descriptor.login?.endpoint ?? null),
  };
}

/** Whether the broker sees the model's answers: not those of a program that connects by itself. */
export function passesBroker({ login, descriptor }: FoundRuntime): boolean {
  return !login || descriptor.login?.endpoint !== undefined;
}

/** What the program must reach by itself to use the log-in. */
export function loginHosts({ login, descriptor }: FoundRuntime): readonly string[] {
  return login ? (descriptor.login?.hosts ?? []) : [];
}

/**
 * `runtimes.X.login: mount`: the program's own log-in session instead of a key. The session is then inside the sandbox,
 * which is recorded as `credential: inside`; the files are read-only, and only the vendor's endpoint is opened for it.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Bind } from '@caisson/protocol';
import type { FoundRuntime } from './rooms.ts';

/** The existing log-in files, as they appear in the sandbox's HOME. */
export function loginBinds(home: string, runtime: FoundRuntime): Bind[] {
  return findLoginFiles(home, runtime).map((file) => {
    const path = join(home, file);
    return { source: path, target: path, writable: false };
  });
}

/** Without a sandbox HOME is a private folder, and the files are linked into it. */
export function linkLoginFiles(home: string, privateHome: string, runtime: FoundRuntime): void {
  for (const file of findLoginFiles(home, runtime)) {
    mkdirSync(dirname(join(privateHome, file)), { recursive: true, mode: 0o700 });
    symlinkSync(join(home, file), join(privateHome, file));
  }
}

/** `host:port` of the endpoint of the log-in. The broker is not used: it has no key to add. */
export function loginHosts(runtime: FoundRuntime): string[] {
  const endpoint = runtime.login
    ? URL.parse(runtime.endpoint ?? runtime.descriptor.defaultEndpoint ?? '')
    : null;
  if (endpoint === null) return [];
  const port = endpoint.port === '' ? (endpoint.protocol === 'http:' ? '80' : '443') : endpoint.port;
  return [`${endpoint.hostname}:${port}`];
}

function findLoginFiles(home: string, { login, descriptor }: FoundRuntime): string[] {
  return login ? descriptor.loginFiles.filter((file) => existsSync(join(home, file))) : [];
}

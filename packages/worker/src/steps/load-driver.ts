import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isAcpRuntime, type Job } from '@caisson/protocol';
import { type RuntimeDriver, findDriver } from '../runtimes/index.ts';
import { fail } from '../attempt/index.ts';

/** Step 2. A user's own adapter is loaded only when its bytes are the admitted ones. */
export async function loadDriver(job: Job): Promise<RuntimeDriver> {
  const { adapter, name, settings } = job.runtime;
  if (adapter === undefined) {
    const driver = findDriver(isAcpRuntime(name, settings) ? 'acp' : name);
    if (driver === null) throw fail('worker-failed', `there is no adapter for the runtime "${name}"`);
    return driver;
  }
  const bytes = readFileSync(adapter.path);
  if (createHash('sha256').update(bytes).digest('hex') !== adapter.sha256)
    throw fail('integrity-failed', `adapter ${adapter.path} changed after admission`);
  const loaded = await importBytes(adapter.path, bytes);
  const driver = loaded.default ?? loaded.driver;
  if (!isDriver(driver))
    throw fail(
      'worker-failed',
      `adapter ${adapter.path} must export a driver with command() and createStream()`,
    );
  return driver;
}

/**
 * Exactly the hashed bytes: they cannot change between the check and the import. From such an address Node resolves
 * neither files beside it nor packages, so only hashed code is loaded.
 */
async function importBytes(path: string, bytes: Buffer): Promise<{ default?: unknown; driver?: unknown }> {
  try {
    return (await import(`data:text/javascript;base64,${bytes.toString('base64')}`)) as { default?: unknown };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = message.replaceAll(/data:text\/javascript;base64,[\w+/=]*/g, path).slice(0, 1000);
    const isImport =
      code === 'ERR_UNSUPPORTED_RESOLVE_REQUEST' ||
      code === 'ERR_INVALID_URL' ||
      code === 'ERR_MODULE_NOT_FOUND';
    const hint = isImport ? " An adapter is one file that imports Node's own modules only: bundle it." : '';
    throw fail('worker-failed', `adapter ${path} cannot be loaded: ${why}${hint}`);
  }
}

function isDriver(value: unknown): value is RuntimeDriver {
  if (typeof value !== 'object' || value === null) return false;
  const candidate = value as Record<string, unknown>;
  return typeof candidate['command'] === 'function' && typeof candidate['createStream'] === 'function';
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { isAcpRuntime, type Job } from '@caisson/protocol';
import type { RuntimeDriver } from '../runtimes/contract.ts';
import { findDriver } from '../runtimes/index.ts';
import { fail } from '../step-failure.ts';

/** Step 2. A user's own adapter is loaded only when its bytes are the ones that were admitted. */
export async function loadDriver(job: Job): Promise<RuntimeDriver> {
  const { adapter, name, settings } = job.runtime;
  if (adapter === undefined) {
    const driver = findDriver(isAcpRuntime(name, settings) ? 'acp' : name);
    if (driver === null) throw fail('worker-failed', `there is no adapter for the runtime "${name}"`);
    return driver;
  }
  const actual = createHash('sha256').update(readFileSync(adapter.path)).digest('hex');
  if (actual !== adapter.sha256)
    throw fail('integrity-failed', `adapter ${adapter.path} changed after admission`);
  const loaded = (await import(pathToFileURL(adapter.path).href)) as { default?: unknown; driver?: unknown };
  const driver = loaded.default ?? loaded.driver;
  if (!isDriver(driver))
    throw fail(
      'worker-failed',
      `adapter ${adapter.path} must export a driver with command() and createStream()`,
    );
  return driver;
}

function isDriver(value: unknown): value is RuntimeDriver {
  if (typeof value !== 'object' || value === null) return false;
  const candidate = value as Record<string, unknown>;
  return typeof candidate['command'] === 'function' && typeof candidate['createStream'] === 'function';
}

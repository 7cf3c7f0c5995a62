import { createCaisson, type Caisson } from '@caisson/engine';
import { VERSION } from './version.ts';

/** Opens the project for one command and closes it whatever happens. */
export async function withCaisson<T>(
  stateDir: string | undefined,
  work: (caisson: Caisson) => Promise<T>,
): Promise<T> {
  const caisson = await createCaisson({
    version: VERSION,
    keepsSpareWorker: false,
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  try {
    return await work(caisson);
  } finally {
    await caisson.close();
  }
}

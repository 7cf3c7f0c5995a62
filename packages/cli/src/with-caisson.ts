import { createCaisson, type Caisson } from '@caisson/engine';
import type { Output } from './output.ts';
import { tellWarnings } from './tell-warnings.ts';
import { VERSION } from './version.ts';

/** Opens the project for one command and closes it whatever happens. With `output`, the host's warnings are told. */
export async function withCaisson<T>(
  stateDir: string | undefined,
  work: (caisson: Caisson) => Promise<T>,
  output?: Output,
): Promise<T> {
  const caisson = await createCaisson({
    version: VERSION,
    keepsSpareWorker: false,
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  if (output !== undefined) tellWarnings(caisson, output);
  try {
    return await work(caisson);
  } finally {
    await caisson.close();
  }
}

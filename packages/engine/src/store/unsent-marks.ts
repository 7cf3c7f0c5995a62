import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeFileSync } from '@caisson/ground';

import { refuseInvalidDigest } from './digest.ts';
import { ensureFolder, listNames } from './local-layout.ts';

export interface Unsent {
  readonly digest: string;
  /** A bundle is sent with everything that it names. */
  readonly kind: 'blob' | 'bundle';
}

/**
 * What the remote store still lacks, as one empty file each. A mark is made before a send begins and removed once it is
 * done, so a process that dies in between leaves it for the next one. An extra mark costs one request.
 */
export class UnsentMarks {
  readonly #folder: string;
  #isMade = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  add(unsent: Unsent): void {
    if (!this.#isMade) ensureFolder(this.#folder);
    this.#isMade = true;
    writeFileSync(this.#fileOf(unsent), '', { mode: 0o600 });
  }

  remove(unsent: Unsent): void {
    removeFileSync(this.#fileOf(unsent));
  }

  list(): Unsent[] {
    return listNames(this.#folder).map((name) => {
      const [digest = '', kind] = name.split('.');
      return { digest, kind: kind === 'bundle' ? 'bundle' : 'blob' };
    });
  }

  #fileOf({ digest, kind }: Unsent): string {
    refuseInvalidDigest(digest);
    return join(this.#folder, kind === 'bundle' ? `${digest}.bundle` : digest);
  }
}

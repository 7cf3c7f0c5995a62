/**
 * The kernel removes the mount that hides a file when that file is replaced, and what is made later was never hidden. A run is
 * over soon; a resident stays, so its process is ended, and the next one does not see the file.
 *
 * GS1  The first change has effect at once, later ones together, once in REST_MS: who flips a file must not start processes
 *      without limit.
 * GS2  Nothing that a project contains ends the daemon: a problem is a warning.
 */
import { watch } from 'node:fs';
import type { Clock } from '@caisson/ground';
import type { Residents } from './contract.ts';
import { identifyProjectSecrets, listSecretPlaces, type SecretPlace } from './project-secrets.ts';

const RUNNING: ReadonlySet<string> = new Set(['starting', 'ready', 'draining']);
const REST_MS = 1000;

export interface GuardOptions {
  readonly projectRoot: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  warn(message: string): void;
}

export function guardSecrets(residents: Residents, options: GuardOptions): Residents {
  const guard = new SecretGuard(residents, options);
  return {
    ...residents,
    stop() {
      guard.stop();
      return residents.stop();
    },
  };
}

class SecretGuard {
  readonly #residents: Residents;
  readonly #options: GuardOptions;
  /** Those that are hidden from every process that runs. */
  #known: ReadonlySet<string> = new Set();
  #stopWatching = (): void => undefined;
  #cancelRest = (): void => undefined;
  #isResting = false;
  #isChanged = false;
  #isStopped = false;
  #warned = '';

  constructor(residents: Residents, options: GuardOptions) {
    this.#residents = residents;
    this.#options = options;
    this.#guarded(() => {
      this.#watch();
      this.#known = identifyProjectSecrets(options.projectRoot);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRest();
    this.#stopWatching();
  }

  // GS1
  #onChanged(): void {
    if (this.#isStopped) return;
    this.#isChanged = this.#isResting;
    if (this.#isResting) return;
    this.#isResting = true;
    this.#cancelRest = this.#options.clock.setTimer(REST_MS, () => {
      this.#isResting = false;
      if (this.#isChanged) this.#onChanged();
    });
    this.#guarded(() => {
      this.#watch(); // a folder may have come; before the list, so that no change is between them
      this.#restartIfNew();
    });
  }

  #restartIfNew(): void {
    const before = this.#known;
    const now = identifyProjectSecrets(this.#options.projectRoot);
    this.#known = now;
    if ([...now].every((secret) => before.has(secret))) return;
    for (const { key, state } of this.#residents.residents())
      if (RUNNING.has(state))
        this.#residents
          .restart(key)
          .catch((error: unknown) => this.#options.warn(`${key}: ${(error as Error).message}`));
  }

  #watch(): void {
    this.#stopWatching();
    const { places, hiddenWhole } = listSecretPlaces(this.#options.projectRoot);
    const watches = places.flatMap((place) => this.#open(place));
    this.#stopWatching = () => {
      for (const each of watches) each.close();
    };
    for (const folder of hiddenWhole)
      this.#warnOnce(`${folder} has too many files: residents started from now on see none of it`);
  }

  #open({ folder, isSecret }: SecretPlace) {
    const report = ({ message }: Error): void => this.#warnUnwatched(message);
    try {
      // What is written in place stays hidden.
      const watching = watch(folder, { persistent: false }, (event, name) => {
        if (event === 'rename' && (name === null || isSecret(name))) this.#onChanged();
      });
      return [watching.on('error', report)];
    } catch (error) {
      report(error as Error);
      return [];
    }
  }

  // GS2
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#warnUnwatched((error as Error).message);
    }
  }

  #warnUnwatched(problem: string): void {
    this.#warnOnce(
      `files with passwords that are replaced are visible to residents until they start again: ${problem}`,
    );
  }

  /** What is repeated each second is reported once. */
  #warnOnce(message: string): void {
    if (this.#warned === message) return;
    this.#warned = message;
    this.#options.warn(message);
  }
}

/** The residents of a daemon, once they could be opened. */
import type { Residents } from '../residents/index.ts';
import { ResidentsClosedError } from './resident-errors.ts';

export interface OpenedResidents {
  find(): Residents | null;
  /** Throws ResidentsClosedError. */
  require(): Residents;
  open(open: () => Promise<Residents>): Promise<void>;
}

export function createOpenedResidents(): OpenedResidents {
  let residents: Residents | null = null;
  let problem = 'they were not opened';
  return {
    find: () => residents,
    require() {
      if (residents === null) throw new ResidentsClosedError(problem);
      return residents;
    },
    async open(open) {
      try {
        residents = await open();
      } catch (error) {
        problem = (error as Error).message;
        throw error;
      }
    },
  };
}

import { CaissonError } from '@caisson/protocol';

/** A request that gets no further. */
export class VisitRefusedError extends CaissonError {
  readonly code: string;
  readonly status: number;

  constructor(status: number, code: string, message: string, remedy?: string) {
    super(message, remedy === undefined ? {} : { remedy });
    this.status = status;
    this.code = code;
  }
}

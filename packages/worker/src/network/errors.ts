import { CaissonError } from '@caisson/protocol';

/** The attempt's network could not be opened. */
export class NetworkOpenError extends CaissonError {
  readonly code = 'NETWORK_OPEN_FAILED';
}

/** A name that was granted leads to an address that was not. */
export class PrivateAddressError extends CaissonError {
  readonly code = 'PRIVATE_ADDRESS';
}

/** A name from the ledger becomes part of a path that is opened or removed. */
export const HOST_ID = /^[\w-]+$/;

/** K3 */
export const FETCH_TIMEOUT_MS = 30_000;
export const MAX_SECRET_BYTES = 65_536;
export const DEFAULT_TTL_MS = 5 * 60_000;
